//! A hierarchical timing wheel whose finest slot is one nanosecond.
//!
//! A deadline is read as eleven digits of six bits, and so is `base`, which no deadline of the wheel
//! is before. A timer's place follows from the two alone:
//! ```text
//!   level   the highest digit in which deadline and base differ; 0 if they are equal
//!   slot    the deadline's digit there
//! ```
//! From which follows what the rest relies on:
//! 1. Whatever is on a lower level is earlier, and so is whatever is in a lower slot of a level.
//! 2. A slot of level 0 is one nanosecond: its list are the timers of one deadline.
//! 3. Timers of the same deadline are in the same slot, at any time. So lists that are only appended
//!    to keep them in the order of insertion.
//! 4. A place need not be stored; it is found again as long as `base` moves together with the timers.
//!
//! When `base` moves on, to no later than the first deadline, all levels below the highest digit that
//! changes are empty (1). Timers have to move only from the slot of that level which `base` now
//! enters, and all of them to lower levels: at most ten times in a timer's life.
//!
//! A slot's *floor* is the earliest deadline that was in it since it was last empty. Removing a timer
//! leaves it, so that nobody searches a list; it is never too late, and may be too early. The bit
//! `vague` says that it may. On level 0 it is always right (2).
//!
//! Not here: deadlines before `base`, and [`Time::NEVER`]; see the parent module.

use core::iter;

use super::slab::{NONE, Slab};
use crate::Time;

const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
const LEVELS: usize = u64::BITS.div_ceil(DIGIT) as usize;
/// How many timers are looked at to make a vague floor exact.
const SEARCH: usize = 32;

pub(super) struct Wheel {
    base: Time,
    /// Levels with timers: one bit each.
    occupied: u32,
    /// All of them, or none before the first timer.
    levels: Box<[Level]>,
}

struct Level {
    /// Slots with timers: one bit each.
    occupied: u64,
    /// Slots whose floor may be too early.
    vague: u64,
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy)]
struct Slot {
    head: u32,
    tail: u32,
    floor: Time,
}

impl Slot {
    const EMPTY: Slot = Slot { head: NONE, tail: NONE, floor: Time::NEVER };
}

impl Wheel {
    pub(super) fn new(base: Time) -> Wheel {
        Wheel { base, occupied: 0, levels: Box::default() }
    }

    #[cold]
    fn make_levels(&mut self) {
        // One level at a time, as all of them are much for the stack of a coroutine.
        let level = |_| Level { occupied: 0, vague: 0, slots: [Slot::EMPTY; SLOTS] };
        self.levels = (0..LEVELS).map(level).collect();
    }

    /// Not after any deadline here.
    #[inline(always)]
    pub(super) fn base(&self) -> Time {
        self.base
    }

    #[inline(always)]
    fn place(&self, when: Time) -> (usize, usize) {
        let level = level(self.base, when);
        (level, digit(when, level))
    }

    /// The first slot with timers.
    #[inline(always)]
    fn first(&self) -> Option<(usize, usize)> {
        if self.occupied == 0 {
            return None;
        }
        let level = self.occupied.trailing_zeros() as usize;
        Some((level, self.levels[level].occupied.trailing_zeros() as usize))
    }

    /// Puts a timer into its list, after those of the same deadline. It is not before `base`.
    #[inline]
    pub(super) fn link<T>(&mut self, slab: &mut Slab<T>, index: u32) {
        let when = slab[index].when;
        debug_assert!(when >= self.base);
        let (level_at, at) = self.place(when);
        if self.levels.is_empty() {
            self.make_levels();
        }
        let level = &mut self.levels[level_at];
        let slot = &mut level.slots[at];
        let last = core::mem::replace(&mut slot.tail, index);
        slab[index].previous = last;
        slab[index].next = NONE;
        if last == NONE {
            slot.head = index;
            slot.floor = when;
            level.occupied |= 1 << at;
            level.vague &= !(1 << at);
            self.occupied |= 1 << level_at;
        } else {
            slab[last].next = index;
            if when <= slot.floor {
                slot.floor = when;
                level.vague &= !(1 << at);
            }
        }
    }

    /// Takes a timer out of its list.
    #[inline]
    pub(super) fn unlink<T>(&mut self, slab: &mut Slab<T>, index: u32) {
        let entry = &slab[index];
        let (when, previous, next) = (entry.when, entry.previous, entry.next);
        let (level_at, at) = self.place(when);
        let level = &mut self.levels[level_at];
        let slot = &mut level.slots[at];
        match previous {
            NONE => slot.head = next,
            _ => slab[previous].next = next,
        }
        match next {
            NONE => slot.tail = previous,
            _ => slab[next].previous = previous,
        }
        if slot.head == NONE {
            level.occupied &= !(1 << at);
            if level.occupied == 0 {
                self.occupied &= !(1 << level_at);
            }
        } else if level_at > 0 && when == slot.floor {
            level.vague |= 1 << at;
        }
    }

    /// The first deadline, or something earlier if its slot has more than [`SEARCH`] timers.
    pub(super) fn earliest<T>(&self, slab: &Slab<T>) -> Option<Time> {
        let (level, at) = self.first()?;
        let slot = &self.levels[level].slots[at];
        if self.levels[level].vague & 1 << at == 0 {
            return Some(slot.floor);
        }
        let mut list = list(slab, slot.head);
        let found = list.by_ref().take(SEARCH).map(|index| slab[index].when).min();
        if list.next().is_some() { Some(slot.floor) } else { found }
    }

    /// The first of the timers with the first deadline, if that is not after `now`. The others
    /// follow it in its list, and no one else. `base` becomes that deadline.
    #[inline]
    pub(super) fn due<T>(&mut self, slab: &mut Slab<T>, now: Time) -> Option<u32> {
        loop {
            let (level, at) = self.first()?;
            let slot = &self.levels[level].slots[at];
            if slot.floor > now {
                return None;
            }
            if level == 0 {
                return Some(slot.head);
            }
            self.move_base(slab, slot.floor);
        }
    }

    /// Moves `base` on, to no later than the first deadline.
    pub(super) fn move_base<T>(&mut self, slab: &mut Slab<T>, base: Time) {
        debug_assert!(base >= self.base);
        let level_at = level(self.base, base);
        let at = digit(base, level_at);
        self.base = base;
        if self.occupied == 0 {
            return;
        }
        let level = &mut self.levels[level_at];
        // Within level 0 nobody changes place.
        if level_at == 0 || level.occupied & 1 << at == 0 {
            return;
        }
        level.occupied &= !(1 << at);
        if level.occupied == 0 {
            self.occupied &= !(1 << level_at);
        }
        let slot = core::mem::replace(&mut level.slots[at], Slot::EMPTY);
        let mut index = slot.head;
        while index != NONE {
            let next = slab[index].next;
            self.link(slab, index);
            index = next;
        }
    }
}

/// The timers of a list, from this one on.
pub(super) fn list<T>(slab: &Slab<T>, head: u32) -> impl Iterator<Item = u32> {
    let some = |index| (index != NONE).then_some(index);
    iter::successors(some(head), move |&index| some(slab[index].next))
}

/// The highest digit in which they differ.
#[inline(always)]
fn level(base: Time, when: Time) -> usize {
    ((base.as_nanos() ^ when.as_nanos()) | 1).ilog2() as usize / DIGIT as usize
}

#[inline(always)]
fn digit(when: Time, level: usize) -> usize {
    (when.as_nanos() >> (level as u32 * DIGIT)) as usize % SLOTS
}
