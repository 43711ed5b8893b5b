//! Those who wait at an exchange, in lines.
//!
//! A party has a slot from when it begins to wait until it takes its slot back itself; slots are
//! used again, so waiting allocates nothing once there were as many, and the first slot is in the exchange
//! itself: two that meet touch no other memory. While it can still be met a party stands in a line;
//! whoever meets it takes it out.
//!
//! ```text
//!   from      to
//!   Waiting   Met       a value was handed to it, or taken from it
//!   Waiting   Refused   the channel was closed
//! ```

use core::cell::Cell;
use core::ops::{Index, IndexMut};
use std::sync::Arc;

use leno_kernel::{Co, Waiter};

use crate::select::ticket::Ticket;

/// Which party: its slot, which is its own until it takes it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u32);

impl Key {
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
impl Key {
    /// For tests without parties.
    pub(crate) fn numbered(number: usize) -> Key {
        Key(number as u32)
    }
}

/// What has become of a party; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting,
    Met,
    Refused,
}

/// One that waits. In this order, so that all but the value of one in the first slot is in the cache lines
/// of the lock.
#[repr(C)]
pub(crate) struct Party<T> {
    pub(crate) stage: Stage,
    in_line: bool,
    /// Of a select: it was passed over here while it asked a source, and has not looked since. Never set while a
    /// slot is unused.
    pub(crate) is_passed: Cell<bool>,
    before: u32,
    /// The next in line, or in the list of slots that nobody uses.
    after: u32,
    /// How it is woken; taken by whoever wakes it.
    pub(crate) waiter: Option<Waiter>,
    /// Of a select: it can be met in several lines, but only once.
    pub(crate) coupon: Option<Coupon>,
    /// When its value was handed over, among others.
    pub(crate) order: u64,
    /// What it offers, or was handed.
    pub(crate) value: Option<T>,
    /// The coroutine that is parked for it, to check that it is parked for nothing else.
    #[cfg(debug_assertions)]
    parked: Option<Co>,
}

impl<T> Party<T> {
    /// A slot that nobody uses.
    const fn nobody() -> Party<T> {
        Party {
            stage: Stage::Waiting,
            in_line: false,
            is_passed: Cell::new(false),
            before: NOBODY,
            after: NOBODY,
            waiter: None,
            coupon: None,
            order: 0,
            value: None,
            #[cfg(debug_assertions)]
            parked: None,
        }
    }

    /// Leaves a line in which nobody else is.
    #[inline(always)]
    pub(crate) fn leave_as_only(&mut self, line: &mut Line) {
        self.in_line = false;
        *line = Line::new();
    }
}

/// A select's ticket, for one of its alternatives: whoever meets that one settles the ticket with its
/// number.
#[derive(Clone, Debug)]
pub struct Coupon {
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) alternative: u32,
}

const NOBODY: u32 = u32::MAX;

/// A line of parties, the first come first.
pub(crate) struct Line {
    first: u32,
    last: u32,
}

impl Line {
    pub(crate) const fn new() -> Line {
        Line { first: NOBODY, last: NOBODY }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NOBODY
    }

    /// Whether two or more are in it.
    #[inline(always)]
    pub(crate) fn has_several(&self) -> bool {
        self.first != self.last
    }
}

/// The slots.
#[repr(C)]
pub(crate) struct Parties<T> {
    unused: u32,
    /// The slot with number 0.
    first: Party<T>,
    /// The others, from 1.
    more: Vec<Party<T>>,
}

impl<T> Parties<T> {
    pub(crate) const fn new() -> Parties<T> {
        Parties { unused: 0, first: Party::nobody(), more: Vec::new() }
    }

    #[inline(always)]
    fn slot(&self, number: u32) -> &Party<T> {
        if number == 0 { &self.first } else { &self.more[number as usize - 1] }
    }

    #[inline(always)]
    fn slot_mut(&mut self, number: u32) -> &mut Party<T> {
        if number == 0 { &mut self.first } else { &mut self.more[number as usize - 1] }
    }

    /// Puts a party at the end of a line.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        line: &mut Line,
        waiter: Waiter,
        value: Option<T>,
        coupon: Option<Coupon>,
    ) -> Key {
        let key = if self.unused == NOBODY { self.grow() } else { self.unused };
        let party = if key == 0 { &mut self.first } else { &mut self.more[key as usize - 1] };
        self.unused = party.after;
        #[cfg(debug_assertions)]
        {
            party.parked = None;
        }
        party.stage = Stage::Waiting;
        party.in_line = true;
        party.before = line.last;
        party.after = NOBODY;
        fill(&mut party.value, value);
        // A number is written as such: as part of a moved whole it would be read back too early.
        match waiter {
            Waiter::Co(co) => fill(&mut party.waiter, Some(Waiter::Co(co))),
            other => fill_other(&mut party.waiter, other),
        }
        fill(&mut party.coupon, coupon);
        match line.last {
            NOBODY => line.first = key,
            last => self.slot_mut(last).after = key,
        }
        line.last = key;
        Key(key)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.more.push(Party::nobody());
        u32::try_from(self.more.len()).expect("so many cannot wait")
    }

    /// The party of a line that has one.
    #[inline(always)]
    pub(crate) fn only(&mut self, line: &Line) -> Option<&mut Party<T>> {
        if line.is_empty() || line.has_several() { None } else { Some(self.slot_mut(line.first)) }
    }

    /// A coroutine is about to park for a party: it stands in no line already, because a parked
    /// coroutine waits in one place, unless that is a select.
    #[inline(always)]
    pub(crate) fn parks(&mut self, key: Key, co: Co) {
        #[cfg(debug_assertions)]
        {
            let is_here = |party: &Party<T>| party.in_line && party.parked == Some(co);
            let is_parked = is_here(&self.first) || self.more.iter().any(is_here);
            assert!(!is_parked, "{co} is parked at this channel already");
            self[key].parked = Some(co);
        }
        let _ = (key, co);
    }

    /// Takes a party out of its line, if it stands there.
    #[inline(always)]
    pub(crate) fn unlink(&mut self, line: &mut Line, key: Key) {
        let party = &mut self[key];
        if !party.in_line {
            return;
        }
        party.in_line = false;
        if !line.has_several() {
            return *line = Line::new();
        }
        let (before, after) = (party.before, party.after);
        match before {
            NOBODY => line.first = after,
            before => self.slot_mut(before).after = after,
        }
        match after {
            NOBODY => line.last = before,
            after => self.slot_mut(after).before = before,
        }
    }

    /// Takes a slot back, which is in no line any more. What it still holds is for the caller to
    /// drop once the lock is released.
    #[inline(always)]
    pub(crate) fn remove(&mut self, key: Key) -> Left<T> {
        let unused = core::mem::replace(&mut self.unused, key.0);
        let party = &mut self[key];
        debug_assert!(!party.in_line, "a party leaves its line before its slot");
        party.after = unused;
        party.is_passed.set(false);
        Left {
            value: party.value.take(),
            _waiter: party.waiter.take(),
            _coupon: party.coupon.take(),
        }
    }

    /// The same for a party that was met and is in no select: it has been woken, and holds nothing
    /// but its value, if that.
    #[inline(always)]
    pub(crate) fn remove_met(&mut self, key: Key) -> Option<T> {
        let unused = core::mem::replace(&mut self.unused, key.0);
        let party = &mut self[key];
        debug_assert!(!party.in_line && party.waiter.is_none() && party.coupon.is_none());
        party.after = unused;
        party.value.take()
    }

    /// The parties of a line, in order.
    pub(crate) fn iter<'a>(&'a self, line: &Line) -> impl Iterator<Item = (Key, &'a Party<T>)> {
        let mut next = line.first;
        core::iter::from_fn(move || {
            let key = Key(next);
            let party = if next == NOBODY { return None } else { &self[key] };
            next = party.after;
            Some((key, party))
        })
    }

    /// The first of a line.
    #[inline(always)]
    pub(crate) fn first(&self, line: &Line) -> Option<Key> {
        (line.first != NOBODY).then_some(Key(line.first))
    }
}

/// Fills a place that is empty. Nothing is dropped, so nobody has to find that out.
#[inline(always)]
fn fill<T>(place: &mut Option<T>, content: Option<T>) {
    debug_assert!(place.is_none(), "a slot that nobody uses is empty");
    core::mem::forget(core::mem::replace(place, content));
}

#[inline(never)]
fn fill_other(place: &mut Option<Waiter>, waiter: Waiter) {
    fill(place, Some(waiter));
}

/// What a party leaves behind in its slot.
pub(crate) struct Left<T> {
    pub(crate) value: Option<T>,
    /// Its drop may run code of another executor.
    _waiter: Option<Waiter>,
    _coupon: Option<Coupon>,
}

impl<T> Index<Key> for Parties<T> {
    type Output = Party<T>;

    #[inline(always)]
    fn index(&self, key: Key) -> &Party<T> {
        self.slot(key.0)
    }
}

impl<T> IndexMut<Key> for Parties<T> {
    #[inline(always)]
    fn index_mut(&mut self, key: Key) -> &mut Party<T> {
        self.slot_mut(key.0)
    }
}
