//! An exchange: where values and those who wait for them meet. The inside of every channel, behind
//! its lock; semaphores, mutexes and the like are made of it, too.
//!
//! Three lines: the *hungry* wait for a value, the *blocked* wait to get rid of one, the *joiners*
//! wait for values of several channels at once. Values wait in the buffer, which holds as many as
//! the channel's capacity; those that were handed to someone who gave up come before them.
//!
//! Invariants, checked in debug builds after every change:
//! - whenever someone is hungry, there is no value here and nobody is blocked (K4), except parties
//!   of one select with itself, and selects that were met elsewhere and have not left yet, or were passed
//!   over while they asked a source and have not looked yet (`reconcile.rs`);
//! - someone is blocked only if the buffer is full, with these exceptions;
//! - values are taken in the order in which they came.
//!
//! Joiners are never handed anything. They are called when there is something to look at, and look
//! for themselves (`select/README.md`).

mod leave;
mod offer;
mod parties;
mod quick;
mod reconcile;
mod wakes;
mod who;

pub(crate) use offer::{Offer, Offers};
pub(crate) use parties::{Coupon, Key, Stage};
pub(crate) use wakes::Wakes;
pub use who::Who;

use core::cell::Cell;
use std::collections::VecDeque;

use leno_kernel::{Co, Object, Waiter};

use self::parties::{Line, Parties};
use crate::listen::Luck;
use crate::select::ticket::{Caller, Claim, Claimant};

/// So many permits are stored one by one.
const FEW: usize = 64;

/// Holds any number of values.
pub(crate) const UNBOUNDED: usize = usize::MAX;

/// See the module. What two that meet write comes first, with the lock: from another core, each cache line
/// takes as long as all the rest.
#[repr(C)]
pub(crate) struct Exchange<T> {
    hungry: Line,
    blocked: Line,
    /// The order of the next value that is handed over, or taken by a select in lines.
    handed: u64,
    pub(crate) luck: Luck,
    parties: Parties<T>,
    capacity: usize,
    buffer: VecDeque<T>,
    joiners: Line,
    pub(crate) senders: usize,
    pub(crate) receivers: usize,
    closed: bool,
    /// Values whose receivers gave up, with their order.
    returned: VecDeque<(u64, T)>,
    /// Where the next fair select that begins here looks first.
    turn: usize,
    object: Object,
    /// Whom a policy has chosen, until somebody is met.
    chosen: Cell<Option<Key>>,
    /// Permits that are not in the buffer, because there are so many: each is made when it is needed. While
    /// there are some, one is in `returned`.
    stock: usize,
    make: Option<fn() -> T>,
}

/// Which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Hungry,
    Blocked,
    Joiners,
}

/// What taking a value came to.
pub(crate) enum Taken<T> {
    Value(T, Wakes),
    Empty,
    Closed,
    /// The select that asks has been met elsewhere.
    Busy,
}

/// What putting a value came to.
pub(crate) enum Put<T> {
    Done(Wakes),
    Full(T),
    Closed(T),
    /// The select that asks has been met elsewhere.
    Busy(T),
}

enum Meeting {
    With(Key),
    Nobody,
    Busy,
}

impl<T> Exchange<T> {
    /// Empty, with one sender and one receiver.
    pub(crate) fn new(capacity: usize, object: Object) -> Exchange<T> {
        Exchange {
            capacity,
            buffer: VecDeque::new(),
            returned: VecDeque::new(),
            parties: Parties::new(),
            hungry: Line::new(),
            blocked: Line::new(),
            joiners: Line::new(),
            handed: 0,
            luck: Luck::default(),
            closed: false,
            senders: 1,
            receivers: 1,
            turn: 0,
            object,
            chosen: Cell::new(None),
            stock: 0,
            make: None,
        }
    }

    /// Takes the next value.
    pub(crate) fn take<C: Claimant>(&mut self, claimant: &C) -> Taken<T> {
        if !self.returned.is_empty() || !self.buffer.is_empty() {
            return self.take_stored(claimant);
        }
        if !self.blocked.is_empty() {
            match self.meet(Side::Blocked, claimant) {
                Meeting::With(key) => {
                    let (value, wakes) = self.relieve(key);
                    return Taken::Value(value, wakes);
                }
                Meeting::Busy => return Taken::Busy,
                Meeting::Nobody => {}
            }
        }
        if !self.will_come() {
            return match claimant.claim(None) {
                Claim::Busy => Taken::Busy,
                _ => Taken::Closed,
            };
        }
        Taken::Empty
    }

    #[inline]
    fn take_stored<C: Claimant>(&mut self, claimant: &C) -> Taken<T> {
        if claimant.claim(None) == Claim::Busy {
            return Taken::Busy;
        }
        let (value, wakes) = self.pop_stored();
        Taken::Value(value, wakes)
    }

    /// The first of the stored values, of which there are some.
    #[inline(always)]
    fn pop_stored(&mut self) -> (T, Wakes) {
        if let Some((order, value)) = self.returned.pop_front() {
            self.restock(order);
            return (value, self.tell_end());
        }
        let value = self.buffer.pop_front().expect("it is not empty");
        let wakes = if self.blocked.is_empty() { self.tell_end() } else { self.refill() };
        (value, wakes)
    }

    /// One of the stock was taken, perhaps: the next takes its place.
    fn restock(&mut self, order: u64) {
        if let Some(make) = self.make.filter(|_| self.stock > 0) {
            self.stock -= 1;
            self.returned.push_front((order, make()));
        }
    }

    /// Adds values that are made when they are needed, so it takes the same time however many they are; unless
    /// somebody waits for one, or two are not many.
    pub(crate) fn add_stock(&mut self, count: usize, make: fn() -> T) -> Option<Wakes> {
        if count <= FEW || !self.will_go() || self.can_meet_or_passes(Side::Hungry, None) {
            return None;
        }
        self.make = Some(make);
        self.stock = self.stock.saturating_add(count);
        if self.returned.is_empty() {
            self.restock(0);
        }
        self.check();
        Some(self.call_joiners())
    }

    /// A value was taken: if it was the last one ever, joiners wait in vain.
    #[inline(always)]
    fn tell_end(&mut self) -> Wakes {
        let is_end = self.returned.is_empty() && self.buffer.is_empty() && !self.will_come();
        if is_end { self.call_joiners() } else { Wakes::Nobody }
    }

    /// There is room in the buffer: someone is blocked no more.
    fn refill(&mut self) -> Wakes {
        let Meeting::With(key) = self.meet(Side::Blocked, &Caller) else { return Wakes::Nobody };
        let (value, wakes) = self.relieve(key);
        self.buffer.push_back(value);
        self.check();
        wakes
    }

    /// Takes the value of a blocked party that was met.
    #[inline(always)]
    fn relieve(&mut self, key: Key) -> (T, Wakes) {
        let party = &mut self.parties[key];
        let value = party.value.take().expect("a blocked party has a value");
        (value, Wakes::take(&mut party.waiter))
    }

    /// Gives a value to whoever waits longest, or to the buffer.
    pub(crate) fn put<C: Claimant>(&mut self, value: T, claimant: &C) -> Put<T> {
        if self.closed || self.receivers == 0 {
            return match claimant.claim(None) {
                Claim::Busy => Put::Busy(value),
                _ => Put::Closed(value),
            };
        }
        if !self.hungry.is_empty() {
            match self.meet(Side::Hungry, claimant) {
                Meeting::With(key) => {
                    let order = self.handed;
                    self.handed += 1;
                    return Put::Done(self.hand(key, order, value));
                }
                Meeting::Busy => return Put::Busy(value),
                Meeting::Nobody => {}
            }
        }
        if self.has_room() {
            if claimant.claim(None) == Claim::Busy {
                return Put::Busy(value);
            }
            self.buffer.push_back(value);
            self.check();
            return Put::Done(self.call_joiners());
        }
        Put::Full(value)
    }

    /// Gives a value to a hungry party that was met.
    #[inline(always)]
    fn hand(&mut self, key: Key, order: u64, value: T) -> Wakes {
        let party = &mut self.parties[key];
        party.value = Some(value);
        party.order = order;
        Wakes::take(&mut party.waiter)
    }

    /// Has someone wait for a value, after [`Self::take`] has found none.
    #[inline(always)]
    pub(crate) fn wait_hungry(&mut self, waiter: Waiter, coupon: Option<Coupon>) -> Key {
        let key = self.parties.add(&mut self.hungry, waiter, None, coupon);
        self.check();
        key
    }

    /// Has someone wait to get rid of a value, after [`Self::put`] has found no way.
    #[inline(always)]
    pub(crate) fn wait_blocked(
        &mut self,
        waiter: Waiter,
        value: T,
        coupon: Option<Coupon>,
    ) -> (Key, Wakes) {
        let key = self.parties.add(&mut self.blocked, waiter, Some(value), coupon);
        self.check();
        (key, self.call_joiners())
    }

    /// A coroutine is about to park for a party.
    #[inline(always)]
    pub(crate) fn parks(&mut self, key: Key, co: Co) {
        self.parties.parks(key, co);
    }

    /// Has a join wait until there is something to look at.
    pub(crate) fn wait_joining(&mut self, waiter: Waiter, coupon: Coupon) -> Key {
        self.parties.add(&mut self.joiners, waiter, None, Some(coupon))
    }

    /// There is something to look at.
    #[inline(always)]
    fn call_joiners(&mut self) -> Wakes {
        if self.joiners.is_empty() { Wakes::Nobody } else { self.call_all_joiners() }
    }

    #[cold]
    fn call_all_joiners(&mut self) -> Wakes {
        let keys: Vec<Key> = self.parties.iter(&self.joiners).map(|(key, _)| key).collect();
        let mut waiters = Vec::new();
        for key in keys {
            let party = &mut self.parties[key];
            // A source that is asked may wait itself, and take the wake for its own.
            let _ = party.coupon.as_ref().is_some_and(|coupon| coupon.ticket.note());
            waiters.extend(party.waiter.take());
        }
        Wakes::Many(waiters)
    }

    /// Finds a party in a line, makes sure that it is free, and takes it out. Selects that ask a source are passed
    /// over, and those that were and have not looked since: what they have missed comes first.
    #[inline(never)]
    fn meet<C: Claimant>(&mut self, side: Side, claimant: &C) -> Meeting {
        loop {
            let own = claimant.ticket();
            let Some(key) = self.pick(side, own) else {
                if self.can_meet_or_passes(side, own) {
                    continue;
                }
                return Meeting::Nobody;
            };
            match claimant.claim(self.parties[key].coupon.as_ref()) {
                Claim::Won => {
                    self.unlink(side, key);
                    self.parties[key].stage = Stage::Met;
                    return Meeting::With(key);
                }
                Claim::Lost => self.unlink(side, key),
                Claim::Asking => self.parties[key].is_passed.set(true),
                Claim::Busy => return Meeting::Busy,
            }
        }
    }

    #[inline(always)]
    fn unlink(&mut self, side: Side, key: Key) {
        let line = match side {
            Side::Hungry => &mut self.hungry,
            Side::Blocked => &mut self.blocked,
            Side::Joiners => &mut self.joiners,
        };
        self.parties.unlink(line, key);
    }

    /// Whether there is nobody and nothing to take from now: no value, nobody blocked, not closed.
    #[inline(always)]
    pub(crate) fn has_nothing(&self) -> bool {
        let is_empty = self.returned.is_empty() && self.buffer.is_empty();
        is_empty && self.blocked.is_empty() && self.will_come()
    }

    /// Whether a value can go nowhere now: no room, nobody hungry, not closed.
    #[inline(always)]
    pub(crate) fn has_no_way(&self) -> bool {
        !self.has_room() && self.hungry.is_empty() && self.will_go()
    }

    /// Whether a value may still come.
    #[inline(always)]
    pub(crate) fn will_come(&self) -> bool {
        !self.closed && self.senders > 0
    }

    /// Whether a value may still be taken.
    #[inline(always)]
    pub(crate) fn will_go(&self) -> bool {
        !self.closed && self.receivers > 0
    }

    /// How many values are stored.
    pub(crate) fn len(&self) -> usize {
        (self.returned.len() + self.buffer.len()).saturating_add(self.stock)
    }

    /// Whether the buffer holds one more.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.buffer.len() < self.capacity
    }

    /// Whether a sender that listens should go on: there is room for half a batch, or nothing to wait for.
    pub(crate) fn has_much_room(&self) -> bool {
        self.buffer.len() <= self.capacity / 2 || !self.will_go() || !self.blocked.is_empty()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Where a fair select looks first, of so many alternatives.
    pub(crate) fn next_turn(&mut self) -> usize {
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }

    /// The invariants.
    #[inline(always)]
    fn check(&self) {
        if cfg!(debug_assertions) {
            self.check_all();
        }
    }

    fn check_all(&self) {
        let object = self.object;
        let is_stored = self.len() > 0;
        for (_, hungry) in self.parties.iter(&self.hungry) {
            let own = hungry.coupon.as_ref().map(|coupon| &*coupon.ticket);
            let is_alone = !is_stored && !self.is_awaited(Side::Blocked, own);
            // Looked at last: it may be met elsewhere meanwhile, but not the other way round.
            assert!(
                is_alone || !hungry.can_meet(None),
                "someone is hungry at channel {object}, where there is something to take"
            );
        }
        assert!(
            !self.has_room() || !self.is_awaited(Side::Blocked, None),
            "someone is blocked at channel {object}, where there is room"
        );
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
