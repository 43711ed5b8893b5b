//! Asking a core from wherever one is: directly, or by a message.

use core::time::Duration;
use std::sync::Arc;

use crate::bell::Bell;
use crate::core::Core;
use crate::mailbox::{Mailbox, Message};
use crate::raw::entered;
use crate::sync::{Mutex, lock};
use crate::{Platform, RealTime, Time};

/// How long whoever asks waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Until when something is waited for, by the clock of the calling code's world, if it is in one.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    clock: RealTime,
    limit: Duration,
}

impl Deadline {
    /// So long from now.
    pub(crate) fn after(limit: Duration) -> Deadline {
        Deadline { clock: RealTime::new(), limit }
    }

    /// How long it is until then.
    pub(crate) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.clock.now() - Time::START)
    }
}

/// What a core answers, now or later.
pub(crate) enum Answer<R> {
    Here(R),
    Later(Arc<Pending<R>>),
}

pub(crate) struct Pending<R> {
    bell: Bell,
    answer: Mutex<Slot<R>>,
}

/// What has become of a question.
enum Slot<R> {
    Open,
    Answered(R),
    /// Nobody waits any more.
    GivenUp,
}

/// Asks the core of a mailbox. If this thread runs that core it answers at once: its mail would not
/// be read while the calling code waits. An answer that comes too late is given to `take_back`, on the core.
pub(crate) fn ask<R: Send + 'static>(
    mailbox: &Mailbox,
    question: impl Fn(&Core) -> R + Send + 'static,
    take_back: fn(&Core, R),
) -> Answer<R> {
    if let Some(answer) = entered::with_core(mailbox.number, &question) {
        return Answer::Here(answer);
    }
    let pending = Arc::new(Pending { bell: Bell::new(), answer: Mutex::new(Slot::Open) });
    let ring = RingAtEnd(pending.clone());
    mailbox.send(Message::Run(Box::new(move |core| {
        let answer = question(core);
        let mut slot = lock(&ring.0.answer);
        if matches!(*slot, Slot::Open) {
            *slot = Slot::Answered(answer);
        } else {
            drop(slot);
            take_back(core, answer);
        }
    })));
    Answer::Later(pending)
}

/// Rings when the question is answered, or is dropped because its core has ended.
struct RingAtEnd<R>(Arc<Pending<R>>);

impl<R> Drop for RingAtEnd<R> {
    fn drop(&mut self) {
        self.0.bell.ring();
    }
}

impl<R> Answer<R> {
    /// The answer, if it comes in time.
    pub(crate) fn wait_until(self, deadline: Deadline) -> Option<R> {
        match self {
            Answer::Here(answer) => Some(answer),
            Answer::Later(pending) => {
                pending.bell.wait_for(deadline.left());
                match core::mem::replace(&mut *lock(&pending.answer), Slot::GivenUp) {
                    Slot::Answered(answer) => Some(answer),
                    Slot::Open | Slot::GivenUp => None,
                }
            }
        }
    }
}
