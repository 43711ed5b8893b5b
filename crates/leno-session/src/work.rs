//! What workers do: lease, run, commit, over and over.
//!
//! A turn leases a batch and makes steps in rounds: one step of each, then one commit for all. Sessions that wait
//! for nothing stay for the next round, live and under the same lease; so their images are written at each step,
//! but read once. The commit after which a worker has nothing in hand leases the next batch, too.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::error::SessionError;
use crate::id::SessionId;
use crate::kind::{Live, Said};
use crate::metrics::Counters;
use crate::row::{Row, State};
use crate::sessions::Sessions;
use crate::stage::Stage;
use crate::store::{Awaits, Commit, Held, Lease, Message, Next, Outcome, Release, Want};
use crate::wait::{Until, Wake};

/// One that makes steps.
struct Worker {
    want: Want,
    /// What it was leased with its last commit.
    granted: Vec<Lease>,
}

/// A session that a worker has.
struct InHand {
    lease: Lease,
    inbox: VecDeque<Message>,
    live: Option<Box<dyn Live>>,
}

/// What came of looking after a session.
enum Made {
    Step(Commit),
    Nothing(Release),
}

impl Sessions {
    /// Works until told to stop: on a thread, or in a coroutine, which parks while the store works. What is in hand
    /// then is finished and stored.
    ///
    /// # Errors
    /// If the store fails for good. That it is busy or cannot be reached for a while is waited for.
    pub fn work(&self, stop: &AtomicBool) -> Result<(), SessionError> {
        let mut worker = self.worker(None);
        while !stop.load(Relaxed) || !worker.granted.is_empty() {
            match self.turn(&mut worker, stop) {
                Ok(0) => {
                    Counters::add(&self.counters.idle, 1);
                    let waited = self.store.wait(Duration::from_millis(200));
                    waited.or_else(|error| self.bear(error.into()))?;
                }
                Ok(_) => {}
                Err(error) => self.bear(error)?,
            }
        }
        Ok(())
    }

    /// Waits a little if the store is away, for as long as it takes.
    fn bear(&self, error: SessionError) -> Result<(), SessionError> {
        match error {
            SessionError::Store(error) if error.is_passing() => {
                Counters::add(&self.counters.retried, 1);
                leno_kernel::blocking(|| std::thread::sleep(Duration::from_millis(100)));
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Works until nothing is due. Tells how many steps were stored.
    ///
    /// # Errors
    /// If the store fails.
    pub fn work_off(&self) -> Result<u64, SessionError> {
        let (mut worker, before) = (self.worker(None), self.metrics().stored);
        while self.turn(&mut worker, &AtomicBool::new(false))? > 0 {}
        Ok(self.metrics().stored - before)
    }

    /// Runs a session until it waits for something or has ended, here or wherever a worker has it.
    ///
    /// # Errors
    /// If there is none; [`SessionError::Late`] if it neither waits nor ends within 30 s; if the store fails.
    pub fn run(&self, id: SessionId) -> Result<Row, SessionError> {
        self.run_for(id, Duration::from_secs(30))
    }

    /// As [`Sessions::run`], with another limit.
    ///
    /// # Errors
    /// As [`Sessions::run`].
    pub fn run_for(&self, id: SessionId, patience: Duration) -> Result<Row, SessionError> {
        let (mut worker, begun) = (self.worker(Some(id)), Instant::now());
        loop {
            let made = self.turn(&mut worker, &AtomicBool::new(false))?;
            let row = self.show(id)?;
            if !matches!(row.state, State::Ready | State::Leased) {
                return Ok(row);
            }
            if begun.elapsed() > patience {
                return Err(SessionError::Late(id));
            }
            if made == 0 {
                self.store.wait(Duration::from_millis(20))?;
            }
        }
    }

    fn worker(&self, only: Option<SessionId>) -> Worker {
        let (build, most, ttl) = (self.build(), self.pace.batch, self.pace.ttl);
        let want = Want { worker: Sessions::worker_name(), build, most, ttl, only };
        Worker { want, granted: Vec::new() }
    }

    /// Leases a batch, unless it has one, and runs it. Tells how many sessions there were.
    fn turn(&self, worker: &mut Worker, stop: &AtomicBool) -> Result<usize, SessionError> {
        let mut leases = std::mem::take(&mut worker.granted);
        if leases.is_empty() {
            leases = self.patiently(|| self.store.lease(&worker.want))?;
        }
        // Each kind is the first in its turn, so that one of which there is always something does not starve the others.
        if !worker.want.build.is_empty() {
            worker.want.build.rotate_left(1);
        }
        let count = leases.len();
        Counters::add(&self.counters.leased, count);
        let mut in_hand: Vec<InHand> = leases.into_iter().map(InHand::new).collect();
        for round in 1..=self.pace.rounds {
            if in_hand.is_empty() {
                break;
            }
            let is_stopped = stop.load(Relaxed);
            let is_last = round == self.pace.rounds || is_stopped;
            in_hand = self.round(in_hand, is_last, worker, !is_stopped)?;
        }
        Ok(count)
    }

    /// One step of each, and one commit. Returns those that go on under their lease; if there are none, the worker may
    /// have been granted others.
    fn round(
        &self,
        mut in_hand: Vec<InHand>,
        is_last: bool,
        worker: &mut Worker,
        goes_on: bool,
    ) -> Result<Vec<InHand>, SessionError> {
        let (mut commits, mut released, mut stepped) = (Vec::new(), Vec::new(), Vec::new());
        let mut fresh = Instant::now();
        let mut lost: Vec<SessionId> = Vec::new();
        while let Some(mut session) = in_hand.pop() {
            if lost.contains(&session.lease.id) {
                continue;
            }
            match self.step(&mut session, is_last) {
                Made::Step(commit) => {
                    commits.push(commit);
                    stepped.push(session);
                }
                Made::Nothing(release) => released.push(release),
            }
            // Steps that take long: the leases of the others must not run out meanwhile.
            if fresh.elapsed() > self.pace.ttl / 3 {
                let all = || stepped.iter().chain(&in_hand).map(|session| session.lease.held());
                let held: Vec<Held> = all().collect();
                let outcomes =
                    self.ask(self.pace.ttl, || self.store.renew(&held, self.pace.ttl))?;
                lost.extend(
                    held.iter()
                        .zip(outcomes)
                        .filter(|(_, o)| *o == Outcome::Fenced)
                        .map(|(h, _)| h.id),
                );
                fresh = Instant::now();
            }
        }
        if !released.is_empty() {
            self.ask(self.pace.ttl, || self.store.release(&released))?;
            Counters::add(&self.counters.released, released.len());
        }
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        Counters::add(&self.counters.steps, commits.len());
        let is_empty_handed = commits.iter().all(|commit| commit.next != Next::Kept);
        let outcomes = if is_empty_handed && goes_on && worker.want.only.is_none() {
            let ask = || self.store.commit_and_lease(&commits, &worker.want);
            let (outcomes, granted) = self.ask(self.pace.ttl, ask)?;
            worker.granted = granted;
            outcomes
        } else {
            self.ask(self.pace.ttl, || self.store.commit(&commits, self.pace.ttl))?
        };
        Counters::add(&self.counters.commits, 1);
        let mut kept = Vec::new();
        for ((commit, mut session), outcome) in commits.into_iter().zip(stepped).zip(outcomes) {
            if outcome == Outcome::Fenced {
                Counters::add(&self.counters.fenced, 1);
                continue;
            }
            Counters::add(&self.counters.stored, 1);
            match commit.next {
                Next::Kept => {
                    session.lease.sequence += 1;
                    session.lease.awaits = Awaits::Nothing;
                    kept.push(session);
                }
                Next::Done => Counters::add(&self.counters.done, 1),
                Next::Failed(_) => Counters::add(&self.counters.failed, 1),
                Next::Parked(_) => Counters::add(&self.counters.parked, 1),
                _ => {}
            }
        }
        // They were taken from the end.
        kept.reverse();
        Ok(kept)
    }

    fn step(&self, session: &mut InHand, is_last: bool) -> Made {
        let Some(kind) = self.kinds.get(&session.lease.kind) else {
            return Made::Nothing(session.release(Vec::new()));
        };
        let version = kind.version();
        if session.live.is_none() {
            let opened = caught(|| kind.open(&session.lease.image)).and_then(|opened| opened);
            match opened {
                Ok(live) => session.live = Some(live),
                Err(reason) => return session.stuck(Next::Parked(reason)),
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
                properties: self.properties.clone(),
                messages: Vec::new(),
                effects: Vec::new(),
            };
            let made = caught(|| {
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
                said: Some(said.to_string()),
                taken: refused,
                messages: stage.messages,
                effects: stage.effects,
                ..session.commit(next)
            });
        }
    }
}

impl InHand {
    fn new(mut lease: Lease) -> Self {
        let inbox = std::mem::take(&mut lease.inbox).into();
        InHand { lease, inbox, live: None }
    }

    fn release(&self, refused: Vec<i64>) -> Release {
        Release { held: self.lease.held(), refused }
    }

    fn commit(&self, next: Next) -> Commit {
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
    fn stuck(&mut self, next: Next) -> Made {
        self.live = None;
        Made::Step(self.commit(next))
    }
}

impl Lease {
    /// What it is renewed by.
    pub fn held(&self) -> Held {
        Held { id: self.id, token: self.token }
    }
}

/// What a panic says.
fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "it panicked with something that is not text".into())
    })
}
