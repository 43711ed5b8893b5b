//! The timers of one core.
//!
//! Nothing here looks at a clock: a core says what time it is ([`Timers::advance`]) and takes what is
//! due ([`Timers::pop_due`]). Deadlines are compared in nanoseconds, never rounded; no timer fires
//! early, and after an advance each one that has come due can be taken.
//!
//! Every timer is in one of three places, by its deadline alone:
//! ```text
//!   before the wheel's base   past    a map; only what was already over when it was inserted
//!   from the base on          wheel   see there
//!   Time::NEVER               slab    in no list: nobody ever looks for it
//! ```
//! The base is never after `now`, and moves only to where nothing in the wheel is before it. So
//! whatever is in `past` is due, and earlier than all of the wheel; timers of the same deadline are
//! in the same place.
//!
//! Inserting and removing take constant time (the past: logarithmic). A timer is moved at most ten
//! times before it fires.
//!
//! Deliberately not here: periods, slack and coalescing, and any choice; of those that are due at the
//! same time a policy may take another than the first ([`Timers::ties`]).

mod slab;
#[cfg(test)]
mod tests;
mod wheel;

use core::fmt;
use core::num::NonZeroU64;
use std::collections::BTreeMap;

use crate::Time;
use slab::{NONE, Slab};
use wheel::Wheel;

/// Which timer. Once it has fired or was removed, the key names nobody, and never another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimerKey {
    serial: NonZeroU64,
    index: u32,
}

/// See the module.
pub(crate) struct Timers<T> {
    now: Time,
    slab: Slab<T>,
    wheel: Wheel,
    /// By deadline and serial.
    past: BTreeMap<(Time, NonZeroU64), u32>,
}

impl<T> Timers<T> {
    /// No timers, at this time.
    pub(crate) fn new(now: Time) -> Timers<T> {
        Timers { now, slab: Slab::new(), wheel: Wheel::new(now), past: BTreeMap::new() }
    }

    /// How many there are, those included that are due or never will be.
    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a timer. If `when` is over, it is due at once, and taken before those due later.
    /// At [`Time::NEVER`] it is never due.
    ///
    /// # Panics
    /// If there are 2³² - 1 already.
    #[inline]
    pub(crate) fn insert(&mut self, when: Time, payload: T) -> TimerKey {
        let key = self.slab.add(when, payload);
        if when < self.wheel.base() {
            self.past.insert((when, key.serial), key.index);
        } else if when != Time::NEVER {
            self.wheel.link(&mut self.slab, key.index);
        }
        key
    }

    /// Removes a timer, due or not. `None` if it is gone.
    #[inline]
    pub(crate) fn remove(&mut self, key: TimerKey) -> Option<T> {
        let when = self.slab.when(key)?;
        if when < self.wheel.base() {
            self.past.remove(&(when, key.serial));
        } else if when != Time::NEVER {
            self.wheel.unlink(&mut self.slab, key.index);
        }
        Some(self.slab.take(key.index).1)
    }

    /// Until when nothing comes due: `None` if nothing ever will.
    ///
    /// It is never later than the first deadline, and is that deadline, save in one case: the first of
    /// a slot of the wheel was removed, and more than 32 others are left in it. Then it may be the
    /// deadline of one that was removed. Whoever advances to it finds either something due or, at most
    /// ten times in a row, a later answer.
    ///
    /// If something is due already, it is not after `now`.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        match self.past.first_key_value() {
            Some((&(when, _), _)) => Some(when),
            None => self.wheel.earliest(&self.slab),
        }
    }

    /// It is now this time. An earlier one than before changes nothing.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        if now <= self.now {
            return;
        }
        self.now = now;
        if self.wheel.due(&mut self.slab, now).is_none() {
            self.wheel.move_base(&mut self.slab, now);
        }
    }

    /// Takes the first timer that is due: by deadline, and of those with the same by insertion.
    /// Timers inserted meanwhile are taken in their turn.
    #[inline]
    pub(crate) fn pop_due(&mut self) -> Option<(Time, T)> {
        self.pop_due_nth(0)
    }

    /// Takes the `n`-th of the [`ties`](Self::ties), if there are so many.
    #[inline]
    pub(crate) fn pop_due_nth(&mut self, n: usize) -> Option<(Time, T)> {
        if let Some((&(when, _), _)) = self.past.first_key_value() {
            let ((_, serial), index) = self.past_at(when).nth(n)?;
            self.past.remove(&(when, serial));
            return Some(self.slab.take(index));
        }
        let first = self.wheel.due(&mut self.slab, self.now)?;
        let index = wheel::list(&self.slab, first).nth(n)?;
        self.wheel.unlink(&mut self.slab, index);
        Some(self.slab.take(index))
    }

    /// The first deadline that is due.
    #[cfg(test)]
    pub(crate) fn due(&mut self) -> Option<Time> {
        match self.past.first_key_value() {
            Some((&(when, _), _)) => Some(when),
            None => self.wheel.due(&mut self.slab, self.now).map(|index| self.slab[index].when),
        }
    }

    /// All timers with the first deadline that is due, in order of insertion. Any of them may be
    /// taken next, by [`pop_due_nth`](Self::pop_due_nth) or by [`remove`](Self::remove).
    pub(crate) fn ties(&mut self) -> impl Iterator<Item = (TimerKey, &T)> {
        let past = self.past.first_key_value().map(|(&(when, _), _)| when);
        let first = match past {
            Some(_) => NONE,
            None => self.wheel.due(&mut self.slab, self.now).unwrap_or(NONE),
        };
        let past = past.into_iter().flat_map(|when| self.past_at(when).map(|(_, index)| index));
        past.chain(wheel::list(&self.slab, first)).map(|index| self.slab.get(index))
    }

    fn past_at(&self, when: Time) -> impl Iterator<Item = ((Time, NonZeroU64), u32)> {
        let all = (when, NonZeroU64::MIN)..=(when, NonZeroU64::MAX);
        self.past.range(all).map(|(&key, &index)| (key, index))
    }
}

impl<T> fmt::Debug for Timers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timers(len: {}, now: {}, next: {:?})", self.len(), self.now, self.next())
    }
}
