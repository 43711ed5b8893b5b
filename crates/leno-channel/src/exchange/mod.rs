//! An exchange: where values and those who wait for them meet. The inside of every channel, while it is
//! locked; semaphores, mutexes and the like are made of it, too.
//!
//! It is a wait queue ([`leno_kernel::layer::queue`]) of three lines: the *hungry* wait for a value, the *blocked* wait to get rid of one, the *joiners*
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
mod party;
mod quick;
mod reconcile;
mod wakes;
mod who;

pub(crate) use offer::{Offer, Offers};
pub(crate) use party::{Coupon, Party};
pub(crate) use wakes::Wakes;
pub use who::Who;

use core::cell::Cell;
use core::ops::{Deref, DerefMut};
use std::collections::VecDeque;

use leno_kernel::layer::queue::{self, WaitQueue};
pub(crate) use leno_kernel::layer::queue::{First, Key, Next, Sleep, Stage};
use leno_kernel::{Object, Waiter};

use crate::flavour::Flavour;
use crate::listen::Luck;
use crate::select::ticket::{Caller, Claim, Claimant};

/// So many permits are stored one by one.
const FEW: usize = 64;

/// Holds any number of values.
pub(crate) const UNBOUNDED: usize = usize::MAX;

/// A channel's state and lines, behind its lock.
pub(crate) type Lines<T, F> = WaitQueue<F, State<T>, Party<T>, 3>;
/// A party of a future, a select or a join.
pub(crate) type Own<'c, T, F> = queue::HeapNode<'c, F, State<T>, Party<T>, 3>;
/// What a party has left behind.
pub(crate) type Left<T> = queue::Left<Party<T>>;

/// See the module: a channel that is locked.
pub(crate) struct Exchange<'c, T, F: Flavour> {
    guard: queue::Guard<'c, F, State<T>, Party<T>, 3>,
}

/// What a channel is, but for those who wait. What two that meet write comes first, behind the lock and the
/// lines: from another core, each cache line takes as long as all the rest.
#[repr(C)]
pub(crate) struct State<T> {
    closed: bool,
    /// Whether there is something in `returned`.
    has_returned: bool,
    pub(crate) luck: Luck,
    capacity: usize,
    pub(crate) receivers: usize,
    pub(crate) senders: usize,
    /// The order of the next value that is handed over, or taken by a select in lines.
    handed: u64,
    /// Not looked at where there is no room for any: a rendezvous does without that line.
    buffer: VecDeque<T>,
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
    Hungry = 0,
    Blocked = 1,
    Joiners = 2,
}

impl<T, F: Flavour> Deref for Exchange<'_, T, F> {
    type Target = State<T>;

    #[inline(always)]
    fn deref(&self) -> &State<T> {
        &self.guard
    }
}

impl<T, F: Flavour> DerefMut for Exchange<'_, T, F> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State<T> {
        &mut self.guard
    }
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

impl<T> State<T> {
    /// Empty, with one sender and one receiver.
    pub(crate) fn new(capacity: usize, object: Object) -> State<T> {
        State {
            capacity,
            buffer: VecDeque::new(),
            returned: VecDeque::new(),
            has_returned: false,
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
        self.capacity != 0 && self.buffer.len() < self.capacity
    }

    /// Whether no value is in the buffer.
    #[inline(always)]
    fn is_drained(&self) -> bool {
        self.capacity == 0 || self.buffer.is_empty()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Where a fair select looks first, of so many alternatives.
    pub(crate) fn next_turn(&mut self) -> usize {
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }
}

impl<'c, T, F: Flavour> Exchange<'c, T, F> {
    #[inline(always)]
    pub(crate) fn lock(lines: &'c Lines<T, F>) -> Self {
        Exchange { guard: lines.lock() }
    }

    /// Whether nobody is in a line.
    #[inline(always)]
    pub(crate) fn has_nobody(&self, side: Side) -> bool {
        self.guard.is_empty(side as usize)
    }

    /// Takes the next value.
    pub(crate) fn take<C: Claimant>(&mut self, claimant: &C) -> Taken<T> {
        if self.has_returned || !self.is_drained() {
            return self.take_stored(claimant);
        }
        if !self.has_nobody(Side::Blocked) {
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
        self.check();
        Taken::Value(value, wakes)
    }

    /// The first of the stored values, of which there are some.
    #[inline(always)]
    fn pop_stored(&mut self) -> (T, Wakes) {
        if self.has_returned {
            return self.pop_returned();
        }
        let value = self.buffer.pop_front().expect("it is not empty");
        let wakes = if self.has_nobody(Side::Blocked) { self.tell_end() } else { self.refill() };
        (value, wakes)
    }

    #[cold]
    fn pop_returned(&mut self) -> (T, Wakes) {
        let (order, value) = self.returned.pop_front().expect("it is not empty");
        self.restock(order);
        self.has_returned = !self.returned.is_empty();
        (value, self.tell_end())
    }

    /// One of the stock was taken, perhaps: the next takes its place.
    fn restock(&mut self, order: u64) {
        if let Some(make) = self.make.filter(|_| self.stock > 0) {
            self.stock -= 1;
            self.returned.push_front((order, make()));
            self.has_returned = true;
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
        if !self.has_returned {
            self.restock(0);
        }
        self.check();
        Some(self.call_joiners())
    }

    /// A value was taken: if it was the last one ever, joiners wait in vain.
    #[inline(always)]
    fn tell_end(&mut self) -> Wakes {
        let is_end = !self.has_returned && self.is_drained() && !self.will_come();
        if is_end { self.call_joiners() } else { Wakes::Nobody }
    }

    /// There is room in the buffer: someone is blocked no more.
    fn refill(&mut self) -> Wakes {
        let Meeting::With(key) = self.meet(Side::Blocked, &Caller) else { return Wakes::Nobody };
        let (value, wakes) = self.relieve(key);
        self.buffer.push_back(value);
        wakes
    }

    /// Takes the value of a blocked party that was met.
    #[inline(always)]
    fn relieve(&mut self, key: Key) -> (T, Wakes) {
        let settled =
            self.guard
                .settle(Side::Blocked as usize, key, Stage::Met, (), |party, ()| party.relieve());
        let Ok((value, waiter)) = settled else { unreachable!("it is in line") };
        (value, Wakes::from(waiter))
    }

    /// Gives a value to the party that waits longest, or to the buffer.
    pub(crate) fn put<C: Claimant>(&mut self, value: T, claimant: &C) -> Put<T> {
        if self.closed || self.receivers == 0 {
            return match claimant.claim(None) {
                Claim::Busy => Put::Busy(value),
                _ => Put::Closed(value),
            };
        }
        if !self.has_nobody(Side::Hungry) {
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
        let hand = |party: &mut Party<T>, value| party.hand(order, value);
        let settled = self.guard.settle(Side::Hungry as usize, key, Stage::Met, value, hand);
        let Ok(((), waiter)) = settled else { unreachable!("it is in line") };
        Wakes::from(waiter)
    }

    /// Has a future or a select wait for a value, after [`Self::take`] has found none.
    pub(crate) fn wait_hungry(&mut self, waiter: Waiter, coupon: Option<Coupon>) -> Own<'c, T, F> {
        let own = self.stand(Side::Hungry, waiter, None, coupon);
        self.check();
        own
    }

    /// Has a future or a select wait to get rid of a value, after [`Self::put`] has found no way.
    pub(crate) fn wait_blocked(
        &mut self,
        waiter: Waiter,
        value: T,
        coupon: Option<Coupon>,
    ) -> (Own<'c, T, F>, Wakes) {
        let own = self.stand(Side::Blocked, waiter, Some(value), coupon);
        self.check();
        (own, self.call_joiners())
    }

    /// Has a join wait until there is something to look at.
    pub(crate) fn wait_joining(&mut self, waiter: Waiter, coupon: Coupon) -> Own<'c, T, F> {
        self.stand(Side::Joiners, waiter, None, Some(coupon))
    }

    fn stand(
        &mut self,
        side: Side,
        waiter: Waiter,
        value: Option<T>,
        coupon: Option<Coupon>,
    ) -> Own<'c, T, F> {
        self.guard.link_on_heap(side as usize, waiter, Party::new(value, coupon))
    }

    /// Has the calling code wait in its frame: for a value, or to get rid of one. See [`queue::Guard::wait_then`].
    /// If the wait unwinds, what it was handed goes to the next, or to the front.
    #[inline(always)]
    pub(crate) fn wait<R>(
        self,
        waiter: Waiter,
        value: Option<T>,
        first: impl FnOnce() -> First,
        sleep: impl Sleep,
        end: impl FnOnce(Self, Stage, &mut Party<T>) -> R,
    ) -> R {
        let side = if value.is_some() { Side::Blocked } else { Side::Hungry };
        let abandon = |guard, left| Exchange { guard }.abandon(side, left);
        let party = Party::new(value, None);
        let end = |guard, stage, party: &mut Party<T>| {
            let exchange = Exchange { guard };
            exchange.check();
            end(exchange, stage, party)
        };
        self.guard.wait_then(side as usize, waiter, party, first, sleep, abandon, end)
    }

    /// There is something to look at.
    #[inline(always)]
    pub(crate) fn call_joiners(&mut self) -> Wakes {
        if self.has_nobody(Side::Joiners) { Wakes::Nobody } else { self.call_all_joiners() }
    }

    #[cold]
    fn call_all_joiners(&mut self) -> Wakes {
        let joiners = Side::Joiners as usize;
        let note = |one: queue::Waiting<'_, Party<T>>| {
            // A source that is asked may wait itself, and take the wake for its own.
            let _ = one.payload.coupon.as_ref().is_some_and(|coupon| coupon.ticket.note());
            one.key
        };
        let keys: Vec<Key> = self.guard.iter(joiners).map(note).collect();
        let waiters = keys.into_iter().filter_map(|key| self.guard.take_waiter(joiners, key));
        let waiters = waiters.collect();
        Wakes::Many(waiters)
    }

    /// Finds a party in a line and makes sure that it is free: the caller settles it, under the same lock. Selects that ask a source are passed
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
            let Some(one) = self.guard.get(side as usize, key) else { continue };
            match claimant.claim(one.payload.coupon.as_ref()) {
                Claim::Won => return Meeting::With(key),
                Claim::Asking => one.payload.is_passed.set(true),
                Claim::Busy => return Meeting::Busy,
                Claim::Lost => self.guard.remove(side as usize, key),
            }
        }
    }

    /// Whether there is nobody and nothing to take from now: no value, nobody blocked, not closed.
    #[inline(always)]
    pub(crate) fn has_nothing(&self) -> bool {
        let is_empty = !self.has_returned && self.is_drained();
        is_empty && self.has_nobody(Side::Blocked) && self.will_come()
    }

    /// Whether a value can go nowhere now: no room, nobody hungry, not closed.
    #[inline(always)]
    pub(crate) fn has_no_way(&self) -> bool {
        !self.has_room() && self.has_nobody(Side::Hungry) && self.will_go()
    }

    /// Whether a sender that listens should go on: there is room for half a batch, or nothing to wait for.
    pub(crate) fn has_much_room(&self) -> bool {
        self.buffer.len() <= self.capacity / 2 || !self.will_go() || !self.has_nobody(Side::Blocked)
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
        assert_eq!(self.has_returned, !self.returned.is_empty(), "at channel {object}");
        assert!(self.buffer.len() <= self.capacity, "channel {object} holds too much");
        let is_stored = self.len() > 0;
        for hungry in self.guard.iter(Side::Hungry as usize) {
            let own = hungry.payload.coupon.as_ref().map(|coupon| &*coupon.ticket);
            let is_alone = !is_stored && !self.is_awaited(Side::Blocked, own);
            // Looked at last: it may be met elsewhere meanwhile, but not the other way round.
            assert!(
                is_alone || !hungry.payload.can_meet(None),
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
