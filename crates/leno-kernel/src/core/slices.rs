//! Who runs with a budget on a core, and how much of it is left.
//!
//! Units are counted down by the thread ([`leno_context::thread`]), where code of coroutines reaches them without its
//! core. They are always those of the innermost slice; `current` says whose that is.
//!
//! Invariants:
//! - Slices are nested: each [`begin`](Slices::begin) keeps the one of before, which [`end`](Slices::end) puts back,
//!   also when the code around it unwinds.
//! - `granted` of the current slice, less the thread's units, is what it has used. What changes one changes the
//!   other.
//! - On a core that is not preemptive nobody has a limited slice.
//!
//! Not here: what happens when a slice is used up (`preempt.rs`).

use core::cell::Cell;
use core::time::Duration;
use std::time::Instant;

use leno_context::thread;

use crate::budget::Budget;
use crate::{Co, world};

/// Units for which the clock is not looked at: at first, at least and at most.
pub(super) const FIRST_LOOK: i64 = 64;
const LEAST: i64 = 16;
const MOST: i64 = 1 << 20;
/// Units of a budget without a limit.
const UNLIMITED: i64 = i64::MAX / 2;

/// See the module.
pub(super) struct Slices {
    /// Whether coroutines of this core may be attached with a budget.
    is_preemptive: bool,
    current: Cell<Slice>,
}

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

/// A slice that has begun, and what it interrupts.
pub(super) struct Begun {
    outer: Slice,
    /// The units that the outer one had.
    before: i64,
}

impl Slices {
    pub(super) fn new(is_preemptive: bool) -> Slices {
        if is_preemptive {
            world::count_preemptive(true);
        }
        Slices { is_preemptive, current: Cell::default() }
    }

    pub(super) fn is_preemptive(&self) -> bool {
        self.is_preemptive
    }

    /// The slice that runs now, if one does.
    #[inline(always)]
    pub(super) fn current(&self) -> Slice {
        self.current.get()
    }

    /// A slice begins within the current one.
    #[inline(always)]
    pub(super) fn begin(&self, slice: Slice) -> Begun {
        let outer = self.current.replace(slice);
        Begun { outer, before: thread::current().units.replace(slice.granted) }
    }

    /// The outer one goes on, less what the inner one has used. Returns the inner one, and how much that is.
    #[inline(always)]
    pub(super) fn end(&self, begun: &Begun) -> (Slice, i64) {
        let slice = self.current.replace(begun.outer);
        let used = slice.granted.wrapping_sub(thread::current().units.get());
        thread::current().units.set(begun.before.saturating_sub(used));
        (slice, used)
    }

    /// The current slice goes on, as `slice` is now, with so many more units.
    pub(super) fn grant(&self, mut slice: Slice, units: i64) {
        let cell = &thread::current().units;
        slice.granted = slice.granted.wrapping_add(units.wrapping_sub(cell.replace(units)));
        self.current.set(slice);
    }

    /// The current slice ends before its coroutine leaves by itself.
    pub(super) fn break_off(&self, slice: Slice) {
        self.current.set(Slice { is_preempted: true, ..slice });
    }

    /// The core goes.
    pub(super) fn leave(&self) {
        if self.is_preemptive {
            world::count_preemptive(false);
        }
    }
}

impl Slice {
    pub(super) fn new(co: Co, budget: Budget) -> Slice {
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

    /// Whether it is nobody's.
    pub(super) fn is_none(&self) -> bool {
        self.co.is_none()
    }

    /// Whether it is that of `co`.
    #[inline(always)]
    pub(super) fn is_of(&self, co: Co) -> bool {
        self.co == Some(co)
    }

    pub(super) fn is_preempted(&self) -> bool {
        self.is_preempted
    }

    /// Whether its budget is one of time.
    pub(super) fn is_timed(&self) -> bool {
        self.time.is_some()
    }

    /// Whether its budget is one of time, which is over.
    pub(super) fn is_over(&self) -> bool {
        self.time.is_some_and(|timed| timed.end <= Instant::now())
    }

    /// How much is left of a budget of time.
    pub(super) fn time_left(&self) -> Option<Duration> {
        Some(self.time?.end.saturating_duration_since(Instant::now()))
    }

    /// Whether it is one, and ends before its coroutine leaves by itself.
    pub(super) fn is_limited(&self) -> bool {
        self.co.is_some() && (self.time.is_some() || self.granted < UNLIMITED)
    }

    /// More units, if its time is not over.
    pub(super) fn more(&mut self) -> Option<i64> {
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
