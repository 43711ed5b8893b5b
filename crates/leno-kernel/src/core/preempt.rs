//! Who runs with a budget, and what happens when that is used up.
//!
//! A slice begins and ends in [`Core::attach_for`], by which [`Co::attach`] works; it keeps what was
//! counted before and puts it back. So the thread's units are always those of the innermost slice, and `slice` of the core that
//! runs it says whose they are. Whoever finds them used up and is not that one (a coroutine that a
//! nested system runs, or whoever has suspended the slice's coroutine from within) leaves them as
//! they are: the owner finds out at its own next unit.
//!
//! Who attaches those of a sink again and again, as schedulers do while anyone is ready, keeps the core's loop from mail,
//! timers and descriptors. So it gives way, where a slice ends, if something is there for the loop: after
//! each slice that was preempted, and after as many others as the loop takes turns between two looks. By
//! itself, that is without mail and the passing of time, this happens at the same places in each run. A
//! scheduler that runs in a slice with a limit does not: it is preempted when that is used up, and the one who
//! gave it that slice gives way.

use core::mem::ManuallyDrop;
use core::time::Duration;
use std::time::Instant;

use leno_context::{interrupt, thread};

use super::run::TURNS;
use super::{Core, is_to_exit, wake_of};
use crate::attach::{AttachError, Back};
use crate::budget::{Attached, Budget};
use crate::policy::{Candidate, Choice, ChoiceKind};
use crate::raw::entered::Inside;
use crate::{Co, Wake, world};

/// Units for which the clock is not looked at: at first, at least and at most.
const FIRST_LOOK: i64 = 64;
const LEAST: i64 = 16;
const MOST: i64 = 1 << 20;
/// Units of a budget without a limit.
const UNLIMITED: i64 = i64::MAX / 2;

/// A coroutine with its budget, while it runs.
#[derive(Clone, Copy, Default)]
pub(super) struct Slice {
    co: Option<Co>,
    /// What it was given so far.
    granted: i64,
    time: Option<Timed>,
    is_preempted: bool,
}

/// A budget of time.
#[derive(Clone, Copy)]
struct Timed {
    end: Instant,
    looked: Instant,
    /// What was given at the last look.
    units: i64,
}

impl Slice {
    fn new(co: Co, budget: Budget) -> Slice {
        let (granted, time) = match budget {
            Budget::Unlimited => (UNLIMITED, None),
            // The last unit finds the counter below zero.
            Budget::Units(units) => (i64::try_from(units.max(1) - 1).unwrap_or(UNLIMITED), None),
            Budget::Time(time) => {
                let looked = Instant::now();
                let end = looked + time.min(Duration::from_secs(1 << 32));
                (FIRST_LOOK, Some(Timed { end, looked, units: FIRST_LOOK }))
            }
        };
        Slice { co: Some(co), granted, time, is_preempted: false }
    }

    /// Whether it is one, and ends before its coroutine leaves by itself.
    fn is_limited(&self) -> bool {
        self.co.is_some() && (self.time.is_some() || self.granted < UNLIMITED)
    }

    /// More units, if its time is not over.
    fn more(&mut self) -> Option<i64> {
        let timed = self.time.as_mut()?;
        let now = Instant::now();
        let left = timed.end.checked_duration_since(now).filter(|left| !left.is_zero())?;
        let past = now.duration_since(timed.looked).as_nanos().max(1);
        let half = left.as_nanos() / 2 * timed.units.unsigned_abs() as u128 / past;
        let units = i64::try_from(half).unwrap_or(MOST).clamp(LEAST, MOST);
        (timed.looked, timed.units) = (now, units);
        Some(units)
    }
}

/// A slice that another one is attached with: ends also if the code around it unwinds meanwhile.
struct Sliced<'a> {
    core: &'a Core,
    watched: u64,
    /// The slice of the code that attaches, and the units that it has.
    outer: Slice,
    before: i64,
}

impl Sliced<'_> {
    /// Goes on with the slice of before. Returns the one that has ended, and the units that it has used.
    fn end(self) -> (Slice, i64) {
        ManuallyDrop::new(self).put_back()
    }

    fn put_back(&mut self) -> (Slice, i64) {
        interrupt::disarm();
        self.core.window.end_slice(self.watched);
        let slice = self.core.slice.replace(self.outer);
        let used = slice.granted.wrapping_sub(thread::current().units.get());
        thread::current().units.set(self.before.saturating_sub(used));
        (slice, used)
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
        if budget != Budget::Unlimited && !self.is_preemptive {
            return Err(AttachError::NotPreemptive(co));
        }
        if matches!(budget, Budget::Time(_)) && self.clock.is_virtual() {
            return Err(AttachError::VirtualTime(co));
        }
        let due = if let Budget::Time(time) = budget { time } else { Duration::ZERO };
        let watched = self.window.begin_slice(due);
        // One of the core's own would be run by the loop, and without a budget.
        let has_sink = self.tasks.get(co).is_some_and(|task| task.has_sink.get());
        let slice = Slice::new(co, budget);
        let sliced = Sliced {
            core: self,
            watched,
            outer: self.slice.replace(slice),
            before: thread::current().units.replace(slice.granted),
        };
        let back = self.attach(co);
        let (slice, used) = sliced.end();
        let back = if slice.is_preempted { Back::Preempted } else { back? };
        if has_sink {
            if slice.is_preempted {
                self.attached.set(TURNS);
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
        if self.attached.get() >= TURNS {
            self.look_if_needed(inside);
        }
    }

    #[inline(never)]
    fn look_if_needed(&self, inside: &Inside<'_>) {
        if self.slice.get().is_limited() {
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
        self.hands.set(0);
        // One that is to exit learns that where it waits.
        let _ = self.yield_now(inside);
    }

    /// Whether enough were attached since the loop last looked around, and there is something for it.
    pub(crate) fn should_look(&self) -> bool {
        if self.attached.get() < TURNS {
            return false;
        }
        let is_due = self.is_busy() || self.attention.is_on() || self.clock.is_timer_due();
        if !is_due {
            self.attached.set(0);
        }
        is_due
    }

    /// The units of this thread are used up: the running coroutine gives way, if they are its own.
    pub(crate) fn preempt(&self, inside: &Inside<'_>) -> Wake {
        let mut slice = self.slice.get();
        let task = inside.task;
        if task.unpreempted.get() > 0 || !inside.can_leave() {
            return Wake::Unparked;
        }
        if is_to_exit(task) {
            if slice.co.is_none() {
                // Nobody's: see `count_operation`.
                thread::current().units.set(i64::MAX);
            }
            return Wake::Exit;
        }
        if slice.co != Some(inside.co) {
            return Wake::Unparked;
        }
        let more = if slice.time.is_some() && world::is_here() {
            self.is_slice_to_go_on().then_some(FIRST_LOOK)
        } else {
            slice.more()
        };
        if let Some(units) = more {
            let cell = &thread::current().units;
            slice.granted = slice.granted.wrapping_add(units.wrapping_sub(cell.replace(units)));
            self.slice.set(slice);
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
        let (slice, task) = (self.slice.get(), inside.task);
        let is_over = slice.time.is_some_and(|timed| timed.end <= Instant::now());
        let may_leave = task.unpreempted.get() == 0 && inside.can_leave() && !is_to_exit(task);
        if slice.co == Some(inside.co) && is_over && may_leave {
            self.break_off(inside, slice);
        }
        if is_to_exit(task) {
            thread::current().units.set(0);
        }
        wake_of(task)
    }

    /// How long this coroutine may run on, if it has a budget of time; in a world nobody can tell.
    pub(crate) fn time_left(&self, co: Co) -> Option<Duration> {
        let slice = self.slice.get();
        if world::is_here() {
            return None;
        }
        let timed = slice.time.filter(|_| slice.co == Some(co))?;
        Some(timed.end.saturating_duration_since(Instant::now()))
    }

    /// Ends the slice of the running coroutine, which is ready, and runs on when it is attached again.
    fn break_off(&self, inside: &Inside<'_>, slice: Slice) {
        self.slice.set(Slice { is_preempted: true, ..slice });
        self.give_turn(inside);
    }
}
