//! What workers do: lease, run, commit, over and over.
//!
//! A turn leases a batch and makes steps in rounds: one step of each, then one commit for all. Sessions that wait
//! for nothing stay for the next round, live and under the same lease; so their images are written at each step,
//! but read once. The commit after which a worker has nothing in hand leases the next batch, too.
//!
//! Workers outlive what they run, and the store: see `step.rs` and `caught.rs`. A session may still end its process.
//! Whose last lease was lost is therefore tried with nothing else in hand, and counted before: it is known by that, and
//! quarantined after some attempts. The others of its batch are suspected once, and cleared by their next step.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::caught::call;
use crate::error::{SessionError, StoreError};
use crate::id::SessionId;
use crate::metrics::Counters;
use crate::round::Round;
use crate::row::{Row, State};
use crate::sessions::Sessions;
use crate::step::InHand;
use crate::store::{Held, Lease, Next, Outcome, Store, Want};

/// One that makes steps.
struct Worker {
    want: Want,
    /// What it was leased with its last commit.
    granted: Vec<Lease>,
    /// How long it waits after the next error.
    pause: Duration,
    /// For how long it asks a store again before it says that it fails.
    patience: Duration,
}

/// Pauses after errors grow from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How often taken messages are deleted, in milliseconds.
const SWEEP: i64 = 10_000;

impl Sessions {
    /// Works until told to stop: on a thread, or in a coroutine, which parks while the store works. What is in hand
    /// then is finished and stored.
    ///
    /// A store that is busy, cannot be reached or panics is waited for, with pauses that grow to 5 s: [`Sessions::health`]
    /// tells of it meanwhile.
    ///
    /// # Errors
    /// If the store fails by an error that does not pass.
    pub fn work(&self, stop: &AtomicBool) -> Result<(), SessionError> {
        let (mut worker, mut on_duty) = (self.worker(None), self.vitals.begin());
        worker.patience = PAUSES.0;
        while !stop.load(Relaxed) || !worker.granted.is_empty() {
            let turned = match leno_context::is_planted("session-payload") {
                true => Ok(self.turn_or_wait(&mut worker, stop)),
                false => call(|| self.turn_or_wait(&mut worker, stop)),
            };
            let turned = turned.unwrap_or_else(|panic| {
                Err(StoreError::Faulty(format!("a worker panicked: {panic}")).into())
            });
            match turned {
                Ok(()) => {
                    worker.pause = PAUSES.0;
                    on_duty.is_well();
                }
                Err(SessionError::Store(error))
                    if error.is_passing() || matches!(error, StoreError::Faulty(_)) =>
                {
                    Counters::add(&self.counters.retried, 1);
                    on_duty.retries(&error.into());
                    rest(worker.pause, stop);
                    worker.pause = (worker.pause * 2).min(PAUSES.1);
                }
                Err(error) => {
                    Counters::add(&self.counters.ended, 1);
                    on_duty.ends(&error);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn turn_or_wait(&self, worker: &mut Worker, stop: &AtomicBool) -> Result<(), SessionError> {
        if self.turn(worker, stop)? == 0 {
            Counters::add(&self.counters.idle, 1);
            self.store.wait(Duration::from_millis(200))?;
        }
        if self.pace.remember < Duration::MAX && self.vitals.is_to_sweep(SWEEP) {
            self.sweep()?;
        }
        Ok(())
    }

    /// Deletes some of the messages that were taken longer than [`crate::Pace::remember`] ago, as workers do now and
    /// then. Tells how many.
    ///
    /// # Errors
    /// If the store fails.
    pub fn sweep(&self) -> Result<u64, SessionError> {
        let swept = self.patiently(|| self.store.sweep(self.pace.remember))?;
        Counters::add(&self.counters.swept, swept as usize);
        Ok(swept)
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
                self.patiently(|| self.store.wait(Duration::from_millis(20)))?;
            }
        }
    }

    fn worker(&self, only: Option<SessionId>) -> Worker {
        let (build, most, ttl) = (self.build(), self.pace.batch, self.pace.ttl);
        let want = Want { worker: Sessions::worker_name(), build, most, ttl, only };
        Worker { want, granted: Vec::new(), pause: PAUSES.0, patience: Duration::from_secs(10) }
    }

    /// Leases a batch, unless it has one, and runs it. Tells how many sessions there were.
    fn turn(&self, worker: &mut Worker, stop: &AtomicBool) -> Result<usize, SessionError> {
        let mut leases = std::mem::take(&mut worker.granted);
        if leases.is_empty() {
            leases = self.ask(worker.patience, || self.store.lease(&worker.want))?;
        }
        // Each kind is the first in its turn, so that one of which there is always something does not starve the others.
        if !worker.want.build.is_empty() {
            worker.want.build.rotate_left(1);
        }
        let count = leases.len();
        Counters::add(&self.counters.leased, count);
        let is_suspect = |lease: &Lease| lease.was_lost && self.pace.attempts > 0;
        if leases.iter().any(is_suspect) {
            let (suspects, others) = leases.into_iter().partition(is_suspect);
            self.try_each(suspects, others)?;
            return Ok(count);
        }
        let mut in_hand: Vec<InHand> = leases.into_iter().map(InHand::new).collect();
        for round in 1..=self.pace.rounds {
            if in_hand.is_empty() {
                break;
            }
            let is_stopped = stop.load(Relaxed);
            let is_last = round == self.pace.rounds || is_stopped;
            let want = Some(&worker.want).filter(|want| !is_stopped && want.only.is_none());
            let left = self.round(in_hand, &Round { is_last, want, waiting: &[] })?;
            (in_hand, worker.granted) = (left.kept, left.granted);
        }
        Ok(count)
    }

    /// One step of each: first of those that nobody suspects, all at once; then of the suspects, each by itself, those with
    /// the fewest attempts first.
    fn try_each(&self, mut suspects: Vec<Lease>, others: Vec<Lease>) -> Result<(), SessionError> {
        let held = |leases: &[Lease]| leases.iter().map(Lease::held).collect::<Vec<Held>>();
        let mut fresh = Instant::now();
        let (is_last, want) = (true, None);
        suspects.sort_by_key(|lease| Reverse(lease.attempts));
        if !others.is_empty() {
            let others = others.into_iter().map(InHand::new).collect();
            self.round(others, &Round { is_last, want, waiting: &held(&suspects) })?;
        }
        while let Some(lease) = suspects.pop() {
            let mut waiting = held(&suspects);
            if fresh.elapsed() > self.pace.ttl / 3 {
                waiting.push(lease.held());
                let lost = self.renew(&waiting)?;
                waiting.pop();
                fresh = Instant::now();
                if lost.contains(&lease.id) {
                    continue;
                }
            }
            let mut suspect = InHand::new(lease);
            if suspect.lease.attempts >= self.pace.attempts {
                self.give_up(&mut suspect)?;
                continue;
            }
            let counted = [suspect.lease.held()];
            let counted = self.ask(self.pace.ttl, || self.store.attempt(&counted))?;
            if counted == [Outcome::Stored] {
                self.round(vec![suspect], &Round { is_last, want, waiting: &waiting })?;
            }
        }
        Ok(())
    }

    /// Quarantines a session whose attempts did not come to an end.
    fn give_up(&self, suspect: &mut InHand) -> Result<(), SessionError> {
        let attempts = suspect.lease.attempts;
        let reason = format!(
            "quarantined: {attempts} attempts at its next step have ended their process, or outlived their lease"
        );
        let commit = suspect.commit(Next::Quarantined(reason));
        let stored = self.ask(self.pace.ttl, || {
            self.store.commit(std::slice::from_ref(&commit), self.pace.ttl)
        })?;
        if stored == [Outcome::Stored] {
            Counters::add(&self.counters.quarantined, 1);
            Counters::add(&self.counters.poisoned, 1);
        } else if self.renew(&[suspect.lease.held()])?.is_empty() {
            // It is ours, and yet no step of it can be stored: what is stored is damaged.
            self.quarantine(suspect.lease.id, "no step of it can be stored")?;
        }
        Ok(())
    }
}

/// Sleeps by the clock of the calling code, unless it is told to stop.
fn rest(pause: Duration, stop: &AtomicBool) {
    let mut left = pause;
    while !left.is_zero() && !stop.load(Relaxed) {
        let slice = left.min(Duration::from_millis(50));
        // The clock may be a user's.
        if call(|| leno_kernel::sleep(slice)).is_err() {
            leno_kernel::blocking(move || std::thread::sleep(slice));
        }
        left -= slice;
    }
}
