//! How many coroutines of a core are parked, by who can still wake them.
//!
//! A core that nobody outside can wake any more, and on which nobody is ready, is at its end. So those are counted
//! whom the outside may wake, and the loop need not look at everyone to know that there are some.
//!
//! Invariants:
//! - A coroutine is counted exactly while it is [`State::Parked`]: [`Core::set_parked`] is the only way into that state,
//!   [`Core::leave_parked`] is called where it ends.
//! - `open` counts those whose [reason is open](Reason::is_open); `futures` those that wait for a future, who are
//!   open as long as others hold a waker of them, which only a look at each of them tells.
//! - All that can wake a thread of a world is in that world, so on a core of a world nobody counts as open.

use core::cell::Cell;

use super::{Core, Task};
use crate::{Reason, State};

/// See the module.
#[derive(Default)]
pub(super) struct Parked {
    open: Cell<usize>,
    futures: Cell<usize>,
    /// All that are parked; counted in debug builds, for the checks.
    all: Cell<usize>,
    /// The core runs the threads of a world.
    is_of_world: bool,
}

impl Parked {
    /// The core runs the threads of a world.
    pub(super) fn set_of_world(&mut self) {
        self.is_of_world = true;
    }

    /// One more (`1`) or less (`-1`) is parked for this reason.
    #[inline(always)]
    pub(super) fn count(&self, reason: Reason, by: isize) {
        if cfg!(debug_assertions) {
            self.all.set(self.all.get().wrapping_add_signed(by));
        }
        let count = match reason {
            Reason::Future => &self.futures,
            reason if reason.is_open() => &self.open,
            _ => return,
        };
        count.set(count.get().wrapping_add_signed(by));
    }

    /// How many are parked, in debug builds.
    pub(super) fn all(&self) -> usize {
        self.all.get()
    }
}

impl Core {
    /// A coroutine parks.
    #[inline(always)]
    pub(super) fn set_parked(&self, task: &Task, reason: Reason) {
        task.become_(State::Parked(reason));
        task.since.set(self.roughly_now());
        self.tasks.parked.count(reason, 1);
    }

    /// A coroutine, if it is parked, will not be any more.
    #[inline(always)]
    pub(super) fn leave_parked(&self, task: &Task) {
        if let State::Parked(reason) = task.state() {
            self.tasks.parked.count(reason, -1);
        }
    }

    /// Whether someone waits for what the outside may still do.
    pub(super) fn is_open(&self) -> bool {
        let held = |(_, task): (_, &Task)| {
            task.state() == State::Parked(Reason::Future) && task.wakers_held() > 0
        };
        let parked = &self.tasks.parked;
        if parked.is_of_world {
            return false;
        }
        parked.open.get() > 0 || parked.futures.get() > 0 && self.tasks.iter().any(held)
    }
}
