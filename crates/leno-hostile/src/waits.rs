//! Waits in local systems that nobody ends: the run reports a deadlock, and the coroutines that wait are in the report.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use leno::kernel::report::{Deadlock, Report};
use leno::kernel::{self, Co, LocalSystem, Object};

use crate::canary::violation;
use crate::world;

/// Lives as long as a coroutine does something of which the end is known.
#[derive(Debug, Default)]
pub struct Waits(Arc<()>);

/// Tells whether a [`Waits`] lives.
pub struct Mark(Weak<()>);

impl Waits {
    /// Returns what tells whether this lives.
    pub fn mark(&self) -> Mark {
        Mark(Arc::downgrade(&self.0))
    }

    /// Returns one for the coroutine that runs the calling code.
    pub fn of(co: Co) -> Waits {
        let waits = Waits::default();
        waits.mark().note(co);
        waits
    }
}

impl Mark {
    /// Notes which coroutine of the system that runs the calling code it is about.
    pub fn note(self, co: Co) {
        let Some(system) = kernel::layer::current_system() else { return };
        let mut all = noted();
        all.retain(|noted| noted.mark.0.strong_count() > 0);
        all.push(Noted { mark: self, system, co });
    }
}

/// A coroutine that has not ended as long as its mark lives.
struct Noted {
    mark: Mark,
    system: Object,
    co: Co,
}

fn noted() -> MutexGuard<'static, Vec<Noted>> {
    static NOTED: Mutex<Vec<Noted>> = Mutex::new(Vec::new());
    NOTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the calling code runs in a local system that [`check`] looks at: there a wait without an end is reported. With
/// several cores nobody would be told.
pub fn end_in_a_report() -> bool {
    let Some(own) = kernel::layer::current_system() else { return false };
    let systems = (0..=u8::MAX).map_while(world::get::<LocalSystem>);
    systems.take(world::ARENA).any(|system| system.object() == own)
}

/// Ends the process unless all who wait in a system whose run has ended in this way are in its report.
pub fn check(system: &LocalSystem, ended: &Result<Report, Deadlock>) {
    let object = system.object();
    let alive = ended.as_ref().err().map_or(&[][..], |deadlock| &deadlock.report.alive);
    let is_lost = |noted: &Noted| {
        noted.system == object
            && noted.mark.0.strong_count() > 0
            && alive.iter().all(|alive| alive.co != noted.co)
    };
    if noted().iter().any(is_lost) {
        violation("a coroutine that waits is not in the report of its system");
    }
}
