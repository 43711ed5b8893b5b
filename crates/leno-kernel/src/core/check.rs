//! What must hold on a core at every switch, checked in debug builds.
//!
//! - K3: between turns nobody runs; in a turn who was picked, and whoever attached it waits for it.
//! - F38: nobody is in the queue twice. It holds exactly those that are ready and in no sink, so
//!   counting is enough at each switch; all are looked at now and then.
//! - K5: everybody is in exactly one place: running, ready, or waiting. The counts of the places add
//!   up to those who are alive.
//!
//! That no channel has both hungry and blocked ones (K4) the channels check themselves. Release
//! builds check nothing and count nothing.

use core::cell::Cell;
use std::collections::HashSet;

use super::Core;
use crate::raw::entered::Running;
use crate::{Co, State};

/// How many switches lie between two looks at everyone.
const ALL_AFTER: u32 = 1024;

/// What only the checks need to know.
#[derive(Default)]
pub(super) struct Checks {
    switches: Cell<u32>,
}

impl Checks {
    /// A turn has ended; whether it is time to look at everyone.
    fn is_time_for_all(&self) -> bool {
        let switches = self.switches.get().wrapping_add(1);
        self.switches.set(switches);
        switches.is_multiple_of(ALL_AFTER)
    }
}

impl Core {
    /// A turn of `co` begins.
    #[inline(always)]
    pub(super) fn check_picked(&self, co: Co) {
        if cfg!(debug_assertions) {
            self.check_alone(co);
        }
    }

    /// A turn has ended.
    #[inline(always)]
    pub(super) fn check(&self) {
        if cfg!(debug_assertions) {
            self.check_counts();
            if self.observation.checks.is_time_for_all() {
                self.check_all();
            }
        }
    }

    fn check_alone(&self, co: Co) {
        let number = self.number();
        let state = |co| self.tasks.get(co).map(|task| task.state());
        if let Some(other) = self.entry.running.get().co() {
            let found = state(other);
            // A movable future, and one whose result is being dropped, have no slot here.
            assert!(
                found.is_none_or(|found| found == State::Calling(co)),
                "K3: core {number} is about to run {co}, but runs {other}, which is {found:?}"
            );
        }
        let found = state(co);
        assert!(
            found == Some(State::Running),
            "K3: core {number} is about to run {co}, which is {found:?}"
        );
    }

    /// What can be told without looking at everyone.
    fn check_counts(&self) {
        let number = self.number();
        let running = self.entry.running.get();
        assert!(
            running == Running::Nobody,
            "K3: core {number} is between two turns, but runs {running:?}"
        );
        let (ready, parked, live) =
            (self.ready.length(), self.tasks.parked.all(), self.tasks.live());
        if let Some(length) = self.ready.length_of_order() {
            assert!(
                length == ready,
                "F38: {length} are in the queue of core {number}, where {ready} are ready"
            );
        }
        let movables = self.ready.movables();
        assert!(
            ready + parked <= live + movables,
            "K5: core {number} has {live} coroutines, but {ready} ready and {parked} parked ones"
        );
    }

    /// Looks at everyone.
    fn check_all(&self) {
        let number = self.number();
        let (mut ready, mut parked, mut all) = (HashSet::new(), 0, 0);
        for (co, task) in self.tasks.iter() {
            all += 1;
            match task.state() {
                State::Running => panic!("K3: {co} runs between two turns of core {number}"),
                // Its sink has it, or whoever took it from there.
                State::Ready if task.has_sink.get() => {}
                State::Ready => drop(ready.insert(co)),
                State::Parked(_) => parked += 1,
                State::New | State::Calling(_) | State::Finished(_) => {}
            }
        }
        let live = self.tasks.live();
        assert!(all == live, "K5: core {number} has {all} coroutines, but counts {live}");
        let counted = self.tasks.parked.all();
        assert!(counted == parked, "K5: core {number} has {parked} parked, but counts {counted}");
        let (counted, found) = (self.ready.length(), ready.len() + self.ready.movables());
        assert!(counted == found, "K5: core {number} has {found} ready, but counts {counted}");
        if let Some(queue) = self.ready.in_order() {
            for co in queue {
                assert!(
                    ready.remove(&co),
                    "F38: {co} is in the queue of core {number} twice, or is not ready"
                );
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
