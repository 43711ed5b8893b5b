//! What can be seen of a core: what has happened on it, counted and, if it has a log, written down; and the window
//! through which other threads look at it.
//!
//! Invariants:
//! - Nothing here decides what the core does: without a log and with nobody who looks, it does the same.
//! - Each coroutine is counted once as spawned and once as ended, in the list of its outcome; movable futures only as
//!   ended, here, since any core may end what another one has spawned.
//! - The process counts the cores that have a log ([`world::count_log`]) as long as they exist.
//!
//! Not here: what an event is ([`crate::log`]), what a window shows ([`crate::window`]), what is checked at each switch
//! ([`super::check`]), and who is alive, which the tasks themselves tell.

use core::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::Core;
use super::check::Checks;
use crate::log::{Ring, What};
use crate::window::Window;
use crate::{Co, Outcome, world};

/// See the module.
pub(crate) struct Observation {
    /// What has happened, if that is written down.
    log: Option<Rc<Ring>>,
    counts: Cell<Counts>,
    /// What other threads see.
    window: Arc<Window>,
    pub(super) checks: Checks,
}

/// What has happened on a core so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) spawned: u64,
    pub(crate) returned: u64,
    pub(crate) panicked: u64,
    pub(crate) exited: u64,
    pub(crate) removed: u64,
    pub(crate) zombies: u64,
    pub(crate) given_up: u64,
}

impl Observation {
    pub(super) fn new(window: Arc<Window>, log: Option<Rc<Ring>>) -> Observation {
        if log.is_some() {
            world::count_log(true);
        }
        Observation { log, counts: Cell::default(), window, checks: Checks::default() }
    }

    /// Where events are written down, if they are.
    #[inline(always)]
    pub(crate) fn log(&self) -> &Option<Rc<Ring>> {
        &self.log
    }

    /// What other threads see.
    #[inline(always)]
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts.get()
    }

    #[inline(always)]
    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    #[inline(always)]
    pub(super) fn count_spawned(&self) {
        self.count(|n| n.spawned += 1);
    }

    /// Counts one whose stack is leaked, besides how it has ended.
    pub(super) fn count_given_up(&self) {
        self.count(|n| n.given_up += 1);
    }

    /// Counts one that the world could still have woken, besides how it ends.
    pub(super) fn count_zombie(&self) {
        self.count(|n| n.zombies += 1);
    }

    /// The core goes.
    pub(super) fn leave(&self) {
        if self.log.is_some() {
            world::count_log(false);
        }
    }
}

impl Core {
    /// Counts a coroutine that has ended here, and writes it down. It knows no ends of channels any more.
    #[inline(always)]
    pub(super) fn count_end(&self, co: Co, outcome: Outcome) {
        self.observation.count(|n| match outcome {
            Outcome::Returned => n.returned += 1,
            Outcome::Panicked => n.panicked += 1,
            Outcome::Exited => n.exited += 1,
            Outcome::Starved | Outcome::Blockaged => n.removed += 1,
        });
        self.log(Some(co), || What::Ended(outcome));
        if !self.ledger.borrow().is_empty() {
            self.ledger.borrow_mut().forget_co(co);
        }
    }
}
