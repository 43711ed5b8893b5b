//! Results of entries.
//!
//! A call of an entry with a result carries an [`Answer`]; its caller has the [`Reply`]. One slot between
//! them, settled once: with the result, or by dropping the answer.
//!
//! A process that waits leaves in the slot, along with its waiter, the note that it waits (`deadlock.rs`).
//! Whoever settles the slot takes both out, and forgets the note before the slot counts as settled: one that
//! has its answer waits for nobody, even if it has not had a turn since, and what it notes next is kept.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use leno_kernel::layer::queue::Alone;
use leno_kernel::layer::{deadline_in, park_on, park_on_until, user, world};
use leno_kernel::log::Operation;
use leno_kernel::{Name, Reason, Time, Waiter, Wake, exit};

use super::Refusal;
use super::about::About;
use super::deadlock::{self, Waits};
use crate::raw::{Giver, Taker, is_exiting, slot};

/// The result of an entry, to come. Wait for it in a coroutine or a thread, or await it in a future.
#[must_use = "the result is lost when this is dropped; the entry is served all the same"]
pub struct Reply<T> {
    slot: Taker<Arc<About>, Waiting, Settled<T>>,
}

/// The duty to answer; part of a message. Dropped without, it tells the caller that nothing will come.
pub struct Answer<T> {
    /// `None` when it was given.
    slot: Option<Giver<Arc<About>, Waiting, Settled<T>>>,
}

/// The code that waits for an answer, with the note that it does, if it is a process.
type Waiting = Alone<Option<Waits>>;

enum Settled<T> {
    Answered(T),
    Never(Why),
}

/// Why there is no answer.
enum Why {
    /// Nobody has served the call.
    Ended,
    /// Its process has panicked meanwhile.
    Panicked,
    /// Its process was made to exit meanwhile.
    Exited,
}

/// There is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The process ended before it served the call.
    Stopped(Name),
    /// The process panicked while it served the call.
    Failed(Name),
    /// The process was made to exit while it served the call: it was cancelled, or its core has ended.
    Exited(Name),
    /// The process waits, over these, for the one that wants to wait: nobody would ever go on. The call is
    /// withdrawn: it is not served, unless that has begun.
    Deadlock(Vec<Name>),
    /// The time is over. The call is served all the same.
    TimedOut(Name),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(Name),
}

pub(super) fn pair<T>(process: Arc<About>) -> (Answer<T>, Reply<T>) {
    let (giver, taker) = slot(process);
    (Answer { slot: Some(giver) }, Reply { slot: taker })
}

impl<T> Answer<T> {
    /// Whether the call was withdrawn: the caller would have waited for ever.
    #[doc(hidden)]
    #[inline]
    pub fn is_revoked(&self) -> bool {
        self.slot.as_ref().is_some_and(Giver::is_revoked)
    }

    /// Answers.
    #[inline]
    pub fn give(mut self, value: T) {
        self.settle(Settled::Answered(value));
    }

    #[inline]
    fn settle(&mut self, settled: Settled<T>) {
        if let Some(slot) = self.slot.take()
            && let Some(waiting) =
                slot.settle(settled, |waiting| drop(waiting.payload_mut().take()))
        {
            waiting.wake();
        }
    }
}

impl<T> Drop for Answer<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            let why = match std::thread::panicking() {
                true if is_exiting() => Why::Exited,
                true => Why::Panicked,
                false => Why::Ended,
            };
            // Who learns of it, and calls again, is refused.
            match why {
                Why::Ended => {}
                Why::Panicked => slot.header().fails(Refusal::Failed),
                Why::Exited => slot.header().fails(Refusal::Ended),
            }
            self.settle(Settled::Never(why));
        }
    }
}

impl<T> Reply<T> {
    /// Waits for the result.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future awaits. For ever, if the entry has
    /// a guard that nobody opens: only circles of calls are found. Where that may be, give the wait a limit
    /// ([`Self::wait_timeout`]).
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds. The entry is served all the same.
    ///
    /// # Errors
    /// When the process ends before, or fails, or exits; when it waits, perhaps over others, for the calling process,
    /// and then the call is withdrawn, unless it is being served; while the coroutine's own stack unwinds.
    ///
    /// # Panics
    /// Inside a future that a core polls.
    #[track_caller]
    pub fn wait(self) -> Result<T, ReplyError> {
        self.wait_until(None)
    }

    /// The same for at most `limit`.
    ///
    /// # Errors
    /// When the time is over; else as [`Self::wait`], but for deadlocks, which the limit ends.
    #[track_caller]
    pub fn wait_timeout(self, limit: Duration) -> Result<T, ReplyError> {
        self.wait_until(Some(deadline_in(limit)))
    }

    /// The result, if it is there.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn try_take(mut self) -> Result<Result<T, ReplyError>, Reply<T>> {
        self.take().ok_or(self)
    }

    fn process(&self) -> &Arc<About> {
        self.slot.header()
    }

    /// The result, if it is there.
    #[inline]
    fn take(&mut self) -> Option<Result<T, ReplyError>> {
        if !self.slot.is_settled() {
            return None;
        }
        let settled = self.slot.take();
        let name = || self.process().name.clone();
        match settled {
            Some(Settled::Answered(value)) => Some(Ok(value)),
            Some(Settled::Never(Why::Ended)) => Some(Err(ReplyError::Stopped(name()))),
            Some(Settled::Never(Why::Panicked)) => Some(Err(ReplyError::Failed(name()))),
            Some(Settled::Never(Why::Exited)) => Some(Err(ReplyError::Exited(name()))),
            None => panic!("a reply was taken already"),
        }
    }

    #[track_caller]
    fn wait_until(mut self, deadline: Option<Time>) -> Result<T, ReplyError> {
        world::point(Operation::Receive, Some(self.process().sign.object()));
        // One that cannot park may take what is there.
        if let Some(result) = self.take() {
            return result;
        }
        let waiter = Waiter::current();
        let note = match deadline {
            None => match deadlock::waits_for(self.process()) {
                Ok(note) => Some(note),
                Err(names) => {
                    // Served later it would only be in the way, and might end in the same circle again.
                    self.slot.revoke();
                    return Err(ReplyError::Deadlock(names));
                }
            },
            Some(_) => None,
        };
        let mut waiting = Waiting::new(waiter, note);
        while let Err(mut back) = self.slot.leave(waiting) {
            drop(back.payload_mut().take());
            if let Some(result) = self.take() {
                return result;
            }
            // It was awaited by another before, who is about to be woken: the result comes now.
            std::thread::yield_now();
            waiting = back;
        }
        loop {
            if let Some(result) = self.take() {
                return result;
            }
            let process = self.process();
            let reason = Reason::Answer(process.sign.object());
            let wake = match deadline {
                None => park_on(reason, &process.sign),
                Some(deadline) => park_on_until(reason, &process.sign, deadline),
            };
            match wake {
                Wake::Unparked => {}
                Wake::TimedOut => {
                    drop(self.slot.withdraw());
                    let late = Err(ReplyError::TimedOut(self.process().name.clone()));
                    return self.take().unwrap_or(late);
                }
                Wake::Exit => {
                    drop(self.slot.withdraw());
                    exit();
                    return Err(ReplyError::Exiting(self.process().name.clone()));
                }
            }
        }
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T, ReplyError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(result) = self.take() {
            return Poll::Ready(result);
        }
        let waiter = Waiter::Waker(context.waker().clone());
        let Err(back) = self.slot.leave(Waiting::new(waiter, None)) else {
            return Poll::Pending;
        };
        match self.take() {
            Some(result) => {
                // The result is not lost if its waker panics.
                user::discard(back);
                Poll::Ready(result)
            }
            None => {
                // It is being settled, and perhaps another one is woken than who polls it now.
                back.wake();
                Poll::Pending
            }
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply of {}", self.process().name.or_id(0))
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slot {
            Some(slot) => write!(f, "Answer of {}", slot.header().name.or_id(0)),
            None => f.write_str("Answer, given"),
        }
    }
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplyError::Stopped(name) => {
                write!(f, "no reply: process {} ended before it served the call", name.or_id(0))
            }
            ReplyError::Failed(name) => {
                write!(f, "no reply: process {} panicked while it served the call", name.or_id(0))
            }
            ReplyError::Exited(name) => write!(
                f,
                "no reply: process {} was made to exit while it served the call",
                name.or_id(0)
            ),
            ReplyError::Deadlock(names) => {
                f.write_str("no reply could ever come: ")?;
                for (n, name) in names.iter().enumerate() {
                    let link = if n == 0 { "process " } else { ", which waits for " };
                    write!(f, "{link}{}", name.or_id(0))?;
                }
                f.write_str(", which is the caller")
            }
            ReplyError::TimedOut(name) => {
                write!(f, "the time to wait for a reply of process {} is over", name.or_id(0))
            }
            ReplyError::Exiting(name) => write!(
                f,
                "a reply of process {} cannot be waited for: the coroutine's own stack unwinds",
                name.or_id(0)
            ),
        }
    }
}

impl std::error::Error for ReplyError {}
