//! A run as its fibres see it: how deep it is, whether it is current, which channels were made in it.
//!
//! A run that is started inside a fibre of another one suspends that whole run until it returns. So
//! the runs of a thread are nested, and only the innermost is current. Under exploration several
//! threads share one, each with runs of its own: a run is found by the system that runs the calling
//! code, which keeps it.

use core::cell::Cell;
use std::rc::{Rc, Weak};

use leno_context::user::StateCell;
use leno_kernel::{LocalSystem, Object};

use crate::wire::Wire;

/// Whether a scheduler runs its fibres now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchedulerState {
    /// One of its fibres runs.
    Current,
    /// Its running fibre runs another scheduler.
    Suspended,
}

/// What the running fibre is about to do; for policies that care.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doing {
    #[default]
    Other,
    Reads,
    Writes,
    Spawns,
}

/// See the module.
pub(crate) struct Scheduler {
    outer: Option<Rc<Scheduler>>,
    state: Cell<SchedulerState>,
    /// Shared with the policy, if it cares.
    pub(crate) doing: Rc<Cell<Doing>>,
    system: Weak<LocalSystem>,
    channels: StateCell<Channels>,
}

/// The channels that were made in a run, as long as someone has an end of them.
#[derive(Default)]
struct Channels {
    wires: Vec<Weak<Wire>>,
    /// How many there were when those that are gone were last taken out.
    before: usize,
}

impl Scheduler {
    /// That of the run which runs the calling code.
    pub(crate) fn current() -> Option<Rc<Scheduler>> {
        leno_kernel::layer::lodger()?.downcast().ok()
    }

    /// Calls `f` while a new scheduler for `system` is current.
    pub(crate) fn enter<R>(
        system: &Rc<LocalSystem>,
        doing: Rc<Cell<Doing>>,
        f: impl FnOnce(&Rc<Scheduler>) -> R,
    ) -> R {
        let scheduler = Rc::new(Scheduler {
            outer: Scheduler::current(),
            state: Cell::new(SchedulerState::Current),
            doing,
            system: Rc::downgrade(system),
            channels: StateCell::default(),
        });
        let entered = Entered { system: system.clone(), scheduler };
        entered.outer_becomes(SchedulerState::Suspended);
        system.lodge(Some(entered.scheduler.clone()));
        f(&entered.scheduler)
    }

    /// How many runs there are, from the outermost to this one.
    pub(crate) fn depth(&self) -> usize {
        1 + self.outer.as_ref().map_or(0, |outer| outer.depth())
    }

    /// The states of all runs from the outermost to this one.
    pub(crate) fn states(&self) -> Vec<SchedulerState> {
        let mut states = self.outer.as_ref().map_or_else(Vec::new, |outer| outer.states());
        states.push(self.state.get());
        states
    }

    pub(crate) fn system(&self) -> Option<Rc<LocalSystem>> {
        self.system.upgrade()
    }

    /// A channel was made.
    pub(crate) fn knows(&self, wire: &Rc<Wire>) {
        let mut channels = self.channels.borrow_mut();
        if channels.wires.len() >= 2 * channels.before.max(16) {
            channels.wires.retain(|wire| wire.strong_count() > 0);
            channels.before = channels.wires.len();
        }
        channels.wires.push(Rc::downgrade(wire));
    }

    /// The channels that were made in this run and have an end left.
    pub(crate) fn channels(&self) -> Vec<Object> {
        let channels = self.channels.borrow();
        channels.wires.iter().filter_map(Weak::upgrade).map(|wire| wire.object).collect()
    }
}

/// Leaves when it is dropped, also by a panic.
struct Entered {
    system: Rc<LocalSystem>,
    scheduler: Rc<Scheduler>,
}

impl Entered {
    fn outer_becomes(&self, state: SchedulerState) {
        if let Some(outer) = &self.scheduler.outer {
            outer.state.set(state);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.outer_becomes(SchedulerState::Current);
        self.system.lodge(None);
    }
}

/// How many runs are around the calling code, itself included; 0 outside of any.
///
/// # Examples
/// ```
/// use leno_fibre::{depth, run};
///
/// assert_eq!(depth(), 0);
/// let inner = run(|_| (depth(), run(|_| depth()).result())).result();
/// assert_eq!(inner, Some((1, Some(2))));
/// ```
pub fn depth() -> usize {
    Scheduler::current().map_or(0, |scheduler| scheduler.depth())
}

/// The states of the runs around the calling code, the outermost first: all are suspended except the
/// last, which is current.
pub fn schedulers() -> Vec<SchedulerState> {
    Scheduler::current().map_or_else(Vec::new, |scheduler| scheduler.states())
}
