//! How the workers of an engine are: what can be seen of a store that fails, while it fails.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::SystemTime;

use leno_kernel::layer::user::{Locked, lock};

use crate::clock::{now, shown, steady};
use crate::error::SessionError;

/// How the workers of an engine in this process are: [`crate::Sessions::health`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Workers that run, those that wait for the store among them.
    pub workers: u64,
    /// Workers whose last turn failed, by an error that may pass: they try again, with pauses that grow.
    pub retrying: u64,
    /// Workers that have ended early, because of an error that does not pass.
    pub ended: u64,
    /// Since when one of them has failed without pause, or when the last one ended; `None` if all is well.
    pub since: Option<SystemTime>,
    /// The last error of those that retry or have ended.
    pub error: Option<SessionError>,
}

impl Health {
    /// Whether no worker fails or has ended early.
    pub fn is_well(&self) -> bool {
        self.retrying == 0 && self.ended == 0
    }
}

/// One figure a line, in the text format that collectors of metrics read.
impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "leno_session_workers {}", self.workers)?;
        writeln!(f, "leno_session_workers_retrying {}", self.retrying)?;
        writeln!(f, "leno_session_workers_ended {}", self.ended)
    }
}

/// The health that workers report.
#[derive(Default)]
pub(crate) struct Vitals {
    health: Mutex<Health>,
    /// When taken messages are to be deleted next.
    sweep: AtomicI64,
}

impl Vitals {
    fn health(&self) -> Locked<'_, Health> {
        lock(&self.health)
    }

    pub(crate) fn read(&self) -> Health {
        self.health().clone()
    }

    /// Whether the one who asks is to sweep now: one of all workers, every `pause` milliseconds.
    pub(crate) fn is_to_sweep(&self, pause: i64) -> bool {
        let (due, now) = (self.sweep.load(Relaxed), steady());
        let next = now.saturating_add(pause);
        due <= now && self.sweep.compare_exchange(due, next, Relaxed, Relaxed).is_ok()
    }

    /// A worker begins.
    pub(crate) fn begin(&self) -> OnDuty<'_> {
        self.health().workers += 1;
        OnDuty { vitals: self, is_retrying: false }
    }
}

/// A worker that reports how it is; no longer, when this is dropped.
pub(crate) struct OnDuty<'a> {
    vitals: &'a Vitals,
    is_retrying: bool,
}

impl OnDuty<'_> {
    pub(crate) fn is_well(&mut self) {
        if std::mem::take(&mut self.is_retrying) {
            let mut health = self.vitals.health();
            health.retrying -= 1;
            if health.is_well() {
                (health.since, health.error) = (None, None);
            }
        }
    }

    pub(crate) fn retries(&mut self, error: &SessionError) {
        let mut health = self.vitals.health();
        if !std::mem::replace(&mut self.is_retrying, true) {
            health.retrying += 1;
        }
        health.since.get_or_insert_with(|| shown(now()));
        health.error = Some(error.clone());
    }

    pub(crate) fn ends(&mut self, error: &SessionError) {
        self.is_well();
        let mut health = self.vitals.health();
        health.ended += 1;
        health.since = Some(shown(now()));
        health.error = Some(error.clone());
    }
}

impl Drop for OnDuty<'_> {
    fn drop(&mut self) {
        self.is_well();
        self.vitals.health().workers -= 1;
    }
}
