//! What happens when a budget is used up.
//!
//! A slice begins and ends in [`Core::attach_for`], by which [`Co::attach`] works; [`super::slices`] says whose the
//! thread's units are. A coroutine that finds them used up and is not that one (a nested system runs it, or it has
//! suspended the slice's coroutine from within) leaves them as they are: the owner finds out at its own next unit.
//!
//! Who attaches those of a sink again and again, as schedulers do while anyone is ready, keeps the core's loop from mail,
//! timers and descriptors. So it gives way, where a slice ends, if something is there for the loop: after
//! each slice that was preempted, and after as many others as the loop takes turns between two looks. By
//! itself, that is without mail and the passing of time, this happens at the same places in each run. A
//! scheduler that runs in a slice with a limit does not: it is preempted when that is used up, and the one who
//! gave it that slice gives way.

use core::mem::ManuallyDrop;
use core::time::Duration;

use leno_context::{interrupt, thread};

use super::Core;
use super::park::{is_to_exit, wake_of};
use super::slices::{Begun, FIRST_LOOK, Slice};
use crate::attach::{AttachError, Back};
use crate::budget::{Attached, Budget};
use crate::policy::{Candidate, Choice, ChoiceKind};
use crate::raw::entered::Inside;
use crate::{Co, Wake, world};

/// A slice that another one is attached with: ends also if the code around it unwinds meanwhile.
struct Sliced<'a> {
    core: &'a Core,
    watched: u64,
    begun: Begun,
}

impl Sliced<'_> {
    /// Goes on with the slice of before. Returns the one that has ended, and the units that it has used.
    fn end(self) -> (Slice, i64) {
        ManuallyDrop::new(self).put_back()
    }

    fn put_back(&mut self) -> (Slice, i64) {
        interrupt::disarm();
        self.core.observation.window().end_slice(self.watched);
        self.core.slices.end(&self.begun)
    }
}

impl Drop for Sliced<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

impl Core {
    /// Runs a coroutine of this core now, until it parks, yields or ends, or its budget is used up.
    /// `inside` is who asks, if it can give way.
    pub(crate) fn attach_for(
        &self,
        inside: Option<&Inside<'_>>,
        co: Co,
        budget: Budget,
    ) -> Result<Attached, AttachError> {
        if budget != Budget::Unlimited && !self.slices.is_preemptive() {
            return Err(AttachError::NotPreemptive(co));
        }
        if matches!(budget, Budget::Time(_)) && self.clock.is_virtual() {
            return Err(AttachError::VirtualTime(co));
        }
        let due = if let Budget::Time(time) = budget { time } else { Duration::ZERO };
        let watched = self.observation.window().begin_slice(due);
        // One of the core's own would be run by the loop, and without a budget.
        let has_sink = self.tasks.get(co).is_some_and(|task| task.has_sink.get());
        let begun = self.slices.begin(Slice::new(co, budget));
        let sliced = Sliced { core: self, watched, begun };
        let back = self.attach(co);
        let (slice, used) = sliced.end();
        let back = if slice.is_preempted() { Back::Preempted } else { back? };
        if has_sink {
            if slice.is_preempted() {
                self.turns.use_up();
            }
            if let Some(inside) = inside {
                self.let_loop_look(inside);
            }
        }
        Ok(Attached { back, units: used.max(0).unsigned_abs() })
    }

    /// Whoever attaches others gives way, if the loop has to look around.
    #[inline(always)]
    pub(crate) fn let_loop_look(&self, inside: &Inside<'_>) {
        if self.turns.is_look_due() {
            self.look_if_needed(inside);
        }
    }

    #[inline(never)]
    fn look_if_needed(&self, inside: &Inside<'_>) {
        if self.slices.current().is_limited() {
            // Those whom it attached may have used up its own, which it finds out at its next unit, or here.
            if thread::current().units.get() < 0 && self.should_look() {
                let _ = self.preempt(inside);
            }
            return;
        }
        if !self.should_look() {
            return;
        }
        // Not to the next one: to the loop.
        self.turns.end_at_loop();
        // One that is to exit learns that where it waits.
        let _ = self.yield_now(inside);
    }

    /// Whether enough were attached since the loop last looked around, and there is something for it.
    pub(crate) fn should_look(&self) -> bool {
        if !self.turns.is_look_due() {
            return false;
        }
        let is_due = self.is_busy() || self.attention.is_on() || self.clock.is_timer_due();
        if !is_due {
            self.turns.looked();
        }
        is_due
    }

    /// The units of this thread are used up: the running coroutine gives way, if they are its own.
    pub(crate) fn preempt(&self, inside: &Inside<'_>) -> Wake {
        let mut slice = self.slices.current();
        let task = inside.task;
        if task.unpreempted.get() > 0 || !inside.can_leave() {
            return Wake::Unparked;
        }
        if is_to_exit(task) {
            if slice.is_none() {
                // Nobody's: see `count_operation`.
                thread::current().units.set(i64::MAX);
            }
            return Wake::Exit;
        }
        if !slice.is_of(inside.co) {
            return Wake::Unparked;
        }
        let more = if slice.is_timed() && world::is_here() {
            self.is_slice_to_go_on().then_some(FIRST_LOOK)
        } else {
            slice.more()
        };
        if let Some(units) = more {
            self.slices.grant(slice, units);
            return Wake::Unparked;
        }
        self.break_off(inside, slice);
        wake_of(task)
    }

    /// Whether time has not used up a slice in a world: that is decided, as all that time does.
    #[cold]
    fn is_slice_to_go_on(&self) -> bool {
        let candidates = [0, 1].map(Candidate::Number);
        self.choose(&Choice::new(ChoiceKind::Slice, None, &candidates)) == 0
    }

    /// The running coroutine was interrupted somewhere: it gives way, if its time is over. It does not
    /// exit here; its next safepoint is told to look whether it is to.
    pub(crate) fn interrupt(&self, inside: &Inside<'_>) -> Wake {
        let (slice, task) = (self.slices.current(), inside.task);
        let is_over = slice.is_over();
        let may_leave = task.unpreempted.get() == 0 && inside.can_leave() && !is_to_exit(task);
        if slice.is_of(inside.co) && is_over && may_leave {
            self.break_off(inside, slice);
        }
        if is_to_exit(task) {
            thread::current().units.set(0);
        }
        wake_of(task)
    }

    /// How long this coroutine may run on, if it has a budget of time; in a world nobody can tell.
    pub(crate) fn time_left(&self, co: Co) -> Option<Duration> {
        let slice = self.slices.current();
        if world::is_here() || !slice.is_of(co) {
            return None;
        }
        slice.time_left()
    }

    /// Ends the slice of the running coroutine, which is ready, and runs on when it is attached again.
    fn break_off(&self, inside: &Inside<'_>, slice: Slice) {
        self.slices.break_off(slice);
        self.give_turn(inside);
    }
}
