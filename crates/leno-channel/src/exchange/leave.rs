//! Leaving an exchange: taking one's party back, giving up, closing.
//!
//! A value is never lost because its receiver gives up: if it was handed over by then, it goes to
//! the next who is hungry, or to the front, in the order in which values were handed over.

use leno_kernel::Waiter;
use leno_kernel::layer::user;

use super::{Exchange, Key, Left, Meeting, Own, Party, Side, Stage, Wakes};
use crate::flavour::Flavour;
use crate::select::ticket::{Caller, Claim, Claimant};

/// What is done once the lock is released.
#[must_use = "whoever is not woken waits for ever"]
pub(crate) struct Rest<T> {
    wakes: Wakes,
    values: Vec<T>,
}

impl<T> Rest<T> {
    /// Wakes all who are to be woken, and drops the values that nobody will take, all of them, whatever a
    /// waker or a destructor does. No lock is held.
    pub(crate) fn see_to(self) {
        // Nobody knows the values any more: an exit that a waker raises leaves them to be dropped.
        let values = Values(self.values);
        self.wakes.wake();
        drop(values);
    }
}

struct Values<T>(Vec<T>);

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        user::discard_all(core::mem::take(&mut self.0));
    }
}

impl<'c, T, F: Flavour> Exchange<'c, T, F> {
    /// What has become of a party.
    pub(crate) fn stage(&self, own: &Own<'c, T, F>) -> Stage {
        self.guard.stage(own.handle())
    }

    /// Takes a party back, whatever has become of it. Dropping what it has left is user code.
    pub(crate) fn withdraw(&mut self, own: Own<'c, T, F>) -> Left<T> {
        let left = self.guard.leave(own);
        self.check();
        left
    }

    /// As [`Self::withdraw`], for a hungry party that gives up: what it was handed goes to others.
    pub(crate) fn give_up(&mut self, own: Own<'c, T, F>) -> (Left<T>, Wakes) {
        let mut left = self.withdraw(own);
        let wakes = self.give_back(left.stage, &mut left.payload);
        (left, wakes)
    }

    /// What a hungry party was handed goes to others.
    pub(crate) fn give_back(&mut self, stage: Stage, party: &mut Party<T>) -> Wakes {
        match party.value.take() {
            Some(value) if stage == Stage::Met => self.put_back(party.order, value),
            _ => Wakes::Nobody,
        }
    }

    /// A wait in a frame unwinds: a clock, a waker or a policy raises something. What was handed over goes to
    /// others, what was not sent is dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn abandon(mut self, side: Side, mut left: Left<T>) {
        let wakes = match side {
            Side::Hungry => self.give_back(left.stage, &mut left.payload),
            Side::Blocked | Side::Joiners => Wakes::Nobody,
        };
        drop(self);
        wakes.wake();
        user::discard(left);
    }

    /// The order of the value that is taken next.
    pub(crate) fn next_order(&mut self) -> u64 {
        if let Some((order, _)) = self.returned.front() {
            return *order;
        }
        self.handed += 1;
        self.handed - 1
    }

    /// A value that was handed over, or taken, comes back.
    pub(crate) fn put_back(&mut self, order: u64, value: T) -> Wakes {
        if let Meeting::With(key) = self.meet(Side::Hungry, &Caller) {
            return self.hand(key, order, value);
        }
        let place = self.returned.partition_point(|(earlier, _)| *earlier < order);
        self.returned.insert(place, (order, value));
        self.has_returned = true;
        self.check();
        self.call_joiners()
    }

    /// For a future or a select that is polled again: whom to wake now. The waiter that is not needed is given
    /// back, to be dropped.
    pub(crate) fn renew(&mut self, own: &Own<'c, T, F>, waiter: Waiter) -> Option<Waiter> {
        let is_same = self.guard.waiter(own.handle()).is_some_and(|old| old.is_same(&waiter));
        if is_same { Some(waiter) } else { self.guard.set_waiter(own.handle(), waiter) }
    }

    /// No more values: what is stored can be taken, all who wait are told.
    pub(crate) fn close(&mut self) -> Rest<T> {
        self.closed = true;
        let mut wakes = self.refuse(Side::Hungry);
        wakes.add(self.refuse(Side::Blocked));
        wakes.add(self.call_joiners());
        Rest { wakes, values: Vec::new() }
    }

    /// The last sender has gone.
    pub(crate) fn no_senders(&mut self) -> Rest<T> {
        let mut wakes = self.refuse(Side::Hungry);
        wakes.add(self.call_joiners());
        Rest { wakes, values: Vec::new() }
    }

    /// The last receiver has gone: nobody will ever take what is stored.
    pub(crate) fn no_receivers(&mut self) -> Rest<T> {
        let wakes = self.refuse(Side::Blocked);
        let mut values: Vec<T> = self.returned.drain(..).map(|(_, value)| value).collect();
        self.has_returned = false;
        values.extend(self.buffer.drain(..));
        Rest { wakes, values }
    }

    /// Tells all of a line that they wait in vain; a select that asks a source finds it out when it looks again.
    pub(super) fn refuse(&mut self, side: Side) -> Wakes {
        let line = side as usize;
        let keys: Vec<Key> = self.guard.iter(line).map(|one| one.key).collect();
        let mut wakes = Wakes::Many(Vec::new());
        for key in keys {
            let Some(one) = self.guard.get(line, key) else { continue };
            match Caller.claim(one.payload.coupon.as_ref()) {
                Claim::Asking => {}
                // A select that was passed over, and whose source has answered since: what was stored comes first.
                Claim::Won if side == Side::Hungry && self.len() > 0 => {
                    wakes.add(self.hand_stored(key));
                }
                Claim::Won => {
                    let refused = self.guard.settle(line, key, Stage::Refused, (), |_, ()| ());
                    wakes.add(refused.map_or(Wakes::Nobody, |((), waiter)| Wakes::from(waiter)));
                }
                Claim::Lost | Claim::Busy => self.guard.remove(line, key),
            }
        }
        wakes
    }
}
