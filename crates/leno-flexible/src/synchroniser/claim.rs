//! What a client asks of a desk, and what comes of it.
//!
//! | from | to | by | when |
//! | --- | --- | --- | --- |
//! | asked | granted | a desk | it has what was asked for |
//! | asked | serving, then granted | a desk | it takes the question first, to run code of users with it |
//! | any | closed | the client | its call has come back, however |
//!
//! Protocol, between a client and the desks: a call of the engine makes the client wait, and nothing else.
//! Whether it was served is decided here, once, under the claim's lock: a client whose call was withdrawn
//! closes its claim and finds the grant in it, or its own question again, and then nobody will ever grant
//! it. So nothing is lost or doubled, whoever is first. What is granted and never fetched is dropped, and
//! its destructor gives it back.
//!
//! Locks: of two claims, that of whoever accepts first; of a claim and an object's state, the claim first.
//! No operation of the system is made under either.

use std::sync::Mutex;

use leno_kernel::layer::user::{self, Locked, lock};

/// See the module.
pub(super) struct Claim<Q, G>(Mutex<Stage<Q, G>>);

enum Stage<Q, G> {
    Asked(Q),
    Serving,
    Granted(G),
    Closed,
}

/// How a claim stands after a desk has looked at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The client is done, or gone.
    Over,
    /// It has to wait.
    Waits,
}

/// What a client finds in its claim when its call has come back.
pub(super) enum Found<Q, G> {
    Granted(G),
    /// Nobody has served it.
    Question(Q),
    /// Somebody is serving it just now, and will find nobody.
    Nothing,
}

impl<Q, G> Claim<Q, G> {
    pub(super) fn new(question: Q) -> Claim<Q, G> {
        Claim(Mutex::new(Stage::Asked(question)))
    }

    fn lock(&self) -> Locked<'_, Stage<Q, G>> {
        lock(&self.0)
    }

    /// Grants it, if it is still asked for and `decide` says so.
    pub(super) fn decide(&self, decide: impl FnOnce(&mut Q) -> Option<G>) -> Outcome {
        let (outcome, answered) = self.decide_holding(decide);
        // Of users, perhaps: not under the lock, and the desk outlives it.
        user::discard(answered);
        outcome
    }

    /// The same under the lock of another claim: what was asked is dropped when that is free.
    pub(super) fn decide_holding(
        &self,
        decide: impl FnOnce(&mut Q) -> Option<G>,
    ) -> (Outcome, Option<Q>) {
        let mut stage = self.lock();
        let Stage::Asked(question) = &mut *stage else { return (Outcome::Over, None) };
        let Some(granted) = decide(question) else { return (Outcome::Waits, None) };
        match core::mem::replace(&mut *stage, Stage::Granted(granted)) {
            Stage::Asked(question) => (Outcome::Over, Some(question)),
            _ => unreachable!("it is asked for"),
        }
    }

    /// Whether somebody waits for it.
    pub(super) fn is_asked(&self) -> bool {
        matches!(*self.lock(), Stage::Asked(_))
    }

    /// What is asked, to be served at once; `None` if nobody asks any more.
    pub(super) fn take(&self) -> Option<Q> {
        let mut stage = self.lock();
        match core::mem::replace(&mut *stage, Stage::Serving) {
            Stage::Asked(question) => Some(question),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// What has come of serving it.
    pub(super) fn finish(&self, granted: G) {
        let mut stage = self.lock();
        let mut unwanted = Some(granted);
        if matches!(*stage, Stage::Serving) {
            *stage = unwanted.take().map_or(Stage::Closed, Stage::Granted);
        }
        drop(stage);
        user::discard(unwanted);
    }

    /// The client is no longer interested in more than what is there now.
    pub(super) fn close(&self) -> Found<Q, G> {
        match core::mem::replace(&mut *self.lock(), Stage::Closed) {
            Stage::Asked(question) => Found::Question(question),
            Stage::Granted(granted) => Found::Granted(granted),
            Stage::Serving | Stage::Closed => Found::Nothing,
        }
    }
}
