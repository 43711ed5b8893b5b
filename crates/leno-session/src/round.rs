//! A round: one step of each session in hand, and one commit for all of them. A step that the store cannot hold is
//! found by storing each by itself; it harms its own session only.

use std::slice::from_ref;
use std::time::Instant;

use crate::error::{SessionError, StoreError};
use crate::id::SessionId;
use crate::metrics::Counters;
use crate::sessions::Sessions;
use crate::step::{InHand, Made};
use crate::store::{Awaits, Change, Commit, Held, Lease, Next, Outcome, Store, Want};
use crate::text;

/// How a round is made.
pub(crate) struct Round<'a> {
    /// Whether all leases end with it.
    pub(crate) is_last: bool,
    /// What to lease with the commit, if nothing is left in hand.
    pub(crate) want: Option<&'a Want>,
    /// Leases that wait for their turn, to be renewed meanwhile.
    pub(crate) waiting: &'a [Held],
}

/// What a round leaves.
#[derive(Default)]
pub(crate) struct Left {
    /// Those that go on under their lease.
    pub(crate) kept: Vec<InHand>,
    /// What was leased with the commit.
    pub(crate) granted: Vec<Lease>,
}

impl Sessions {
    /// One step of each, and one commit.
    pub(crate) fn round(
        &self,
        mut in_hand: Vec<InHand>,
        round: &Round<'_>,
    ) -> Result<Left, SessionError> {
        let (mut commits, mut released, mut stepped) = (Vec::new(), Vec::new(), Vec::new());
        let mut fresh = Instant::now();
        let mut lost: Vec<SessionId> = Vec::new();
        while let Some(mut session) = in_hand.pop() {
            if lost.contains(&session.lease.id) {
                continue;
            }
            match self.step(&mut session, round.is_last) {
                Made::Step(commit) => {
                    commits.push(commit);
                    stepped.push(session);
                }
                Made::Nothing(release) => released.push(release),
                Made::Quarantine(reason) => self.quarantine(session.lease.id, &reason)?,
            }
            // Steps that take long: the leases of the others must not run out meanwhile.
            if fresh.elapsed() > self.pace.ttl / 3 {
                let ours = stepped.iter().chain(&in_hand).map(|session| session.lease.held());
                let held: Vec<Held> = ours.chain(round.waiting.iter().copied()).collect();
                lost.extend(self.renew(&held)?);
                fresh = Instant::now();
            }
        }
        if !released.is_empty() {
            self.ask(self.pace.ttl, || self.store.release(&released))?;
            Counters::add(&self.counters.released, released.len());
        }
        if commits.is_empty() {
            return Ok(Left::default());
        }
        Counters::add(&self.counters.steps, commits.len());
        let is_empty_handed = commits.iter().all(|commit| commit.next != Next::Kept);
        let (outcomes, granted) =
            self.store_all(&commits, round.want.filter(|_| is_empty_handed))?;
        Counters::add(&self.counters.commits, 1);
        let mut kept = Vec::new();
        for ((commit, mut session), outcome) in commits.into_iter().zip(stepped).zip(outcomes) {
            let counters = &self.counters;
            match outcome {
                Some(Outcome::Stored) => Counters::add(&counters.stored, 1),
                Some(Outcome::Fenced) => {
                    Counters::add(&counters.fenced, 1);
                    continue;
                }
                None => continue,
            }
            match commit.next {
                Next::Kept => {
                    session.lease.sequence += 1;
                    session.lease.awaits = Awaits::Nothing;
                    kept.push(session);
                }
                Next::Done => Counters::add(&counters.done, 1),
                Next::Failed(_) => Counters::add(&counters.failed, 1),
                Next::Quarantined(_) => Counters::add(&counters.quarantined, 1),
                _ => {}
            }
        }
        // They were taken from the end.
        kept.reverse();
        Ok(Left { kept, granted })
    }

    /// Renews leases. Returns those that are lost.
    pub(crate) fn renew(&self, held: &[Held]) -> Result<Vec<SessionId>, SessionError> {
        let outcomes = self.ask(self.pace.ttl, || self.store.renew(held, self.pace.ttl))?;
        let lost = held.iter().zip(outcomes).filter(|(_, outcome)| *outcome == Outcome::Fenced);
        Ok(lost.map(|(held, _)| held.id).collect())
    }

    /// Quarantines a session, whatever is stored of it.
    pub(crate) fn quarantine(&self, id: SessionId, reason: &str) -> Result<(), SessionError> {
        let change =
            Change::Quarantine(text::clean(&format!("quarantined: {reason}")).into_owned());
        self.ask(self.pace.ttl, || self.store.change(&[id], &change))?;
        Counters::add(&self.counters.quarantined, 1);
        Counters::add(&self.counters.poisoned, 1);
        Ok(())
    }

    /// Stores steps, in one transaction if the store can, else one by one. `None` is for a step that cannot be stored:
    /// its session has failed.
    fn store_all(
        &self,
        commits: &[Commit],
        want: Option<&Want>,
    ) -> Result<(Vec<Option<Outcome>>, Vec<Lease>), SessionError> {
        let ttl = self.pace.ttl;
        let stored = match want {
            Some(want) => self.ask(ttl, || self.store.commit_and_lease(commits, want)),
            None => self.ask(ttl, || Ok((self.store.commit(commits, ttl)?, Vec::new()))),
        };
        match stored {
            Ok((outcomes, leases)) => Ok((outcomes.into_iter().map(Some).collect(), leases)),
            Err(SessionError::Store(error)) if error.may_be_of_one() => {
                Ok((self.store_each(commits, error)?, Vec::new()))
            }
            Err(error) => Err(error),
        }
    }

    /// Stores steps one by one, because the batch could not be stored. Those that cannot are not made: their sessions
    /// have failed.
    fn store_each(
        &self,
        commits: &[Commit],
        of_all: StoreError,
    ) -> Result<Vec<Option<Outcome>>, SessionError> {
        let ttl = self.pace.ttl;
        let (mut outcomes, mut is_of_all) = (Vec::new(), true);
        for commit in commits {
            let error = match self.ask(ttl, || self.store.commit(from_ref(commit), ttl)) {
                Ok(outcome) => {
                    is_of_all = false;
                    outcomes.push(outcome.first().copied());
                    continue;
                }
                Err(SessionError::Store(error)) if error.may_be_of_one() => error,
                Err(error) => return Err(error),
            };
            outcomes.push(None);
            let reason = format!("its step could not be stored: {error}");
            let failed = Commit {
                image: None,
                said: None,
                next: Next::Failed(text::clean(&reason).into_owned()),
                taken: Vec::new(),
                messages: Vec::new(),
                effects: Vec::new(),
                ..commit.clone()
            };
            match self.ask(ttl, || self.store.commit(from_ref(&failed), ttl)) {
                Ok(_) => {
                    is_of_all = false;
                    Counters::add(&self.counters.failed, 1);
                }
                // What is stored of it is damaged, too.
                Err(_) => is_of_all &= self.quarantine(commit.id, &reason).is_err(),
            }
        }
        Counters::add(&self.counters.isolated, 1);
        if is_of_all { Err(of_all.into()) } else { Ok(outcomes) }
    }
}
