//! A session that a worker has in hand, and a step of it. Everything that runs here is user code: routines, what reads
//! and writes their values, and the `Drop` of these.

use std::collections::VecDeque;

use leno_context::user;

use crate::caught::call;
use crate::kind::{Live, Said};
use crate::metrics::Counters;
use crate::sessions::Sessions;
use crate::stage::Stage;
use crate::store::{Awaits, Commit, Held, Lease, Message, Next, Release};
use crate::text;
use crate::wait::{Until, Wake, text_of};

/// A session that a worker has.
pub(crate) struct InHand {
    pub(crate) lease: Lease,
    inbox: VecDeque<Message>,
    live: Option<Box<dyn Live>>,
}

/// What came of looking after a session.
pub(crate) enum Made {
    Step(Commit),
    Nothing(Release),
    /// It cannot be stored as a step, for this reason.
    Quarantine(String),
}

impl Sessions {
    pub(crate) fn step(&self, session: &mut InHand, is_last: bool) -> Made {
        let Some(kind) = self.kinds.get(&session.lease.kind) else {
            return Made::Nothing(session.release(Vec::new()));
        };
        if session.lease.sequence >= text::LAST {
            return Made::Quarantine(format!("its sequence is {}", session.lease.sequence));
        }
        let version = kind.version();
        if session.live.is_none() {
            let opened = call(|| kind.open(&session.lease.image)).and_then(|opened| opened);
            match opened {
                Ok(live) => session.live = Some(live),
                Err(reason) => return session.stuck(Next::Quarantined(reason)),
            }
        }
        let mut refused = Vec::new();
        loop {
            let Some(live) = session.live.as_mut() else {
                return session.stuck(Next::Failed("it has panicked".into()));
            };
            let (wake, taken) = match session.lease.awaits {
                _ if live.is_new() => (None, None),
                Awaits::Nothing => (Some(Wake::Step), None),
                Awaits::Time | Awaits::Message => match session.inbox.pop_front() {
                    Some(message) if session.lease.awaits == Awaits::Message => {
                        (Some(Wake::Answer(message.body)), Some(message.number))
                    }
                    _ if session.lease.is_due => (Some(Wake::Timeout), None),
                    _ => {
                        Counters::add(&self.counters.refused, refused.len());
                        return Made::Nothing(session.release(refused));
                    }
                },
            };
            let mut stage = Stage {
                id: session.lease.id,
                sequence: session.lease.sequence + 1,
                token: session.lease.token,
                properties: self.properties.clone(),
                messages: Vec::new(),
                effects: Vec::new(),
            };
            let made = call(|| {
                live.step(wake, &mut stage).map(|said| {
                    let image =
                        if let Said::Done(_) = said { Ok(Vec::new()) } else { live.image() };
                    (said, image)
                })
            });
            let (said, image) = match made {
                Err(panic) => return session.stuck(Next::Failed(panic)),
                Ok(Err(_)) if taken.is_some() => {
                    refused.extend(taken);
                    continue;
                }
                Ok(Err(cause)) | Ok(Ok((_, Err(cause)))) => {
                    return session.stuck(Next::Failed(cause));
                }
                Ok(Ok((said, Ok(image)))) => (said, image),
            };
            let (said, next) = match said {
                Said::Done(result) => (result, Next::Done),
                Said::Waits(wait) if wait.until == Until::Now && !is_last => {
                    (wait.said, Next::Kept)
                }
                Said::Waits(wait) => (wait.said, wait.until.into()),
            };
            Counters::add(&self.counters.refused, refused.len());
            refused.extend(taken);
            return Made::Step(Commit {
                version,
                image: Some(image),
                said: Some(text_of(&said)),
                taken: refused,
                messages: stage.messages,
                effects: stage.effects,
                ..session.commit(next)
            });
        }
    }
}

impl InHand {
    pub(crate) fn new(mut lease: Lease) -> Self {
        let inbox = std::mem::take(&mut lease.inbox).into();
        InHand { lease, inbox, live: None }
    }

    fn release(&self, refused: Vec<i64>) -> Release {
        Release { held: self.lease.held(), refused }
    }

    pub(crate) fn commit(&self, next: Next) -> Commit {
        // Reasons quote what routines say, and what is stored.
        let next = match next {
            Next::Failed(reason) => Next::Failed(text::clean(&reason).into_owned()),
            Next::Quarantined(reason) => Next::Quarantined(text::clean(&reason).into_owned()),
            next => next,
        };
        Commit {
            id: self.lease.id,
            token: self.lease.token,
            sequence: self.lease.sequence,
            version: self.lease.version,
            image: None,
            said: None,
            next,
            taken: Vec::new(),
            messages: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// It stays as it is, and nobody runs it.
    pub(crate) fn stuck(&mut self, next: Next) -> Made {
        self.let_go();
        Made::Step(self.commit(next))
    }

    /// Drops what is in memory of it.
    fn let_go(&mut self) {
        if let Some(live) = self.live.take() {
            user::dispose(live);
        }
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Lease {
    /// What it is renewed by.
    pub fn held(&self) -> Held {
        Held { id: self.id, token: self.token }
    }
}
