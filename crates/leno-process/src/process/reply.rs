//! Results of entries.
//!
//! A call of an entry with a result carries an [`Answer`]; its caller has the [`Reply`]. One slot between
//! them, settled once: with the result, or by dropping the answer.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leno_kernel::log::Operation;
use leno_kernel::{
    Name, Reason, Time, Waiter, Wake, current_stack, deadline_in, exit, park_on, park_on_until,
    world,
};

use super::deadlock;
use super::mailbox::About;

/// The result of an entry, to come. Wait for it in a coroutine or a thread, or await it in a future.
#[must_use = "the result is lost when this is dropped; the entry is served all the same"]
pub struct Reply<T> {
    slot: Arc<Slot<T>>,
}

/// The duty to answer; part of a message. Dropped without, it tells the caller that nothing will come.
pub struct Answer<T> {
    /// `None` when it was given.
    slot: Option<Arc<Slot<T>>>,
}

struct Slot<T> {
    state: Mutex<State<T>>,
    process: Arc<About>,
}

enum State<T> {
    Open(Option<Waiter>),
    Answered(T),
    Never { has_failed: bool },
    Taken,
}

/// There is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The process ended before it served the call.
    Stopped(Name),
    /// The process panicked while it served the call.
    Failed(Name),
    /// The process waits, over these, for the one that wants to wait: nobody would ever go on.
    Deadlock(Vec<Name>),
    /// The time is over. The call is served all the same.
    TimedOut(Name),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(Name),
}

pub(super) fn pair<T>(process: Arc<About>) -> (Answer<T>, Reply<T>) {
    let slot = Arc::new(Slot { state: Mutex::new(State::Open(None)), process });
    (Answer { slot: Some(slot.clone()) }, Reply { slot })
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody waits.
    fn forget_waiter(&self) {
        if let State::Open(waiter) = &mut *self.lock() {
            *waiter = None;
        }
    }

    fn settle(&self, settled: State<T>) {
        let mut state = self.lock();
        let before = core::mem::replace(&mut *state, settled);
        drop(state);
        if let State::Open(Some(waiter)) = before {
            waiter.wake();
        }
    }

    /// The result, or nothing yet: then `waiter` is woken when there is one.
    fn take(&self, waiter: Option<Waiter>) -> Option<Result<T, ReplyError>> {
        let name = || self.process.name.clone();
        let mut state = self.lock();
        match core::mem::replace(&mut *state, State::Taken) {
            State::Answered(value) => Some(Ok(value)),
            State::Never { has_failed: true } => Some(Err(ReplyError::Failed(name()))),
            State::Never { has_failed: false } => Some(Err(ReplyError::Stopped(name()))),
            State::Open(before) => {
                *state = State::Open(waiter.or(before));
                None
            }
            State::Taken => panic!("a reply was taken already"),
        }
    }
}

impl<T> Answer<T> {
    /// Answers.
    pub fn give(mut self, value: T) {
        if let Some(slot) = self.slot.take() {
            slot.settle(State::Answered(value));
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.settle(State::Never { has_failed: std::thread::panicking() });
        }
    }
}

impl<T> Reply<T> {
    /// Waits for the result.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future awaits.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds. The entry is served all the same.
    ///
    /// # Errors
    /// When the process ends before, or fails; when it waits, perhaps over others, for the calling
    /// process; while the coroutine's own stack unwinds.
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
    pub fn try_take(self) -> Result<Result<T, ReplyError>, Reply<T>> {
        self.slot.take(None).ok_or(self)
    }

    #[track_caller]
    fn wait_until(self, deadline: Option<Time>) -> Result<T, ReplyError> {
        let process = &self.slot.process;
        world::point(Operation::Receive, Some(process.sign.object()));
        // One that cannot park may take what is there.
        if current_stack().is_none()
            && let Some(result) = self.slot.take(None)
        {
            return result;
        }
        let mut waits = None;
        loop {
            if let Some(result) = self.slot.take(Some(Waiter::current())) {
                return result;
            }
            if deadline.is_none() && waits.is_none() {
                match deadlock::waits_for(process) {
                    Ok(noted) => waits = Some(noted),
                    Err(names) => {
                        self.slot.forget_waiter();
                        return Err(ReplyError::Deadlock(names));
                    }
                }
            }
            let reason = Reason::Answer(process.sign.object());
            let wake = match deadline {
                None => park_on(reason, &process.sign),
                Some(deadline) => park_on_until(reason, &process.sign, deadline),
            };
            match wake {
                Wake::Unparked => {}
                Wake::TimedOut => {
                    let late = Err(ReplyError::TimedOut(process.name.clone()));
                    return self.slot.take(None).unwrap_or(late);
                }
                Wake::Exit => {
                    exit();
                    return Err(ReplyError::Exiting(process.name.clone()));
                }
            }
        }
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T, ReplyError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waiter = Waiter::Waker(context.waker().clone());
        self.slot.take(Some(waiter)).map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply of {}", self.slot.process.name.or_id(0))
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slot {
            Some(slot) => write!(f, "Answer of {}", slot.process.name.or_id(0)),
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
