//! Asking a core from wherever one is: directly, or by a message.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use crate::bell::Bell;
use crate::core::Core;
use crate::mailbox::{Mailbox, Message};
use crate::raw::entered;
use crate::sync::{Mutex, lock};

/// How long whoever asks waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// What a core answers, now or later.
pub(crate) enum Answer<R> {
    Here(R),
    Later(Arc<Pending<R>>),
}

pub(crate) struct Pending<R> {
    bell: Bell,
    answer: Mutex<Option<R>>,
}

/// Asks the core of a mailbox. If this thread runs that core it answers at once: its mail would not
/// be read while the calling code waits.
pub(crate) fn ask<R: Send + 'static>(
    mailbox: &Mailbox,
    question: impl Fn(&Core) -> R + Send + 'static,
) -> Answer<R> {
    if let Some(answer) = entered::with_core(mailbox.number, &question) {
        return Answer::Here(answer);
    }
    let pending = Arc::new(Pending { bell: Bell::new(), answer: Mutex::new(None) });
    let ring = RingAtEnd(pending.clone());
    mailbox.send(Message::Run(Box::new(move |core| {
        *lock(&ring.0.answer) = Some(question(core));
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
    pub(crate) fn wait_until(self, deadline: Instant) -> Option<R> {
        match self {
            Answer::Here(answer) => Some(answer),
            Answer::Later(pending) => {
                pending.bell.wait_for(deadline.saturating_duration_since(Instant::now()));
                lock(&pending.answer).take()
            }
        }
    }
}
