//! Leaving an exchange: taking one's slot back, giving up, closing.
//!
//! A value is never lost because its receiver gives up: if it was handed over by then, it goes to
//! the next who is hungry, or to the front, in the order in which values were handed over.

use super::parties::{Key, Left, Stage};
use super::{Exchange, Meeting, Side, Wakes};
use crate::select::ticket::{Caller, Claim, Claimant};
use leno_kernel::{Waiter, user};

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

impl<T> Exchange<T> {
    /// What has become of a party.
    #[inline(always)]
    pub(crate) fn stage(&self, key: Key) -> Stage {
        self.parties[key].stage
    }

    /// Takes the slot of a party back that is [`Stage::Met`] or [`Stage::Refused`].
    #[inline(always)]
    pub(crate) fn finish(&mut self, key: Key) -> Left<T> {
        self.parties.remove(key)
    }

    /// The same for a party that was met and is in no select: gives its value.
    #[inline(always)]
    pub(crate) fn finish_met(&mut self, key: Key) -> Option<T> {
        self.parties.remove_met(key)
    }

    /// Takes a slot back, whatever has become of its party, and leaves the line.
    pub(crate) fn withdraw(&mut self, side: Side, key: Key) -> (Stage, Left<T>) {
        self.unlink(side, key);
        let stage = self.stage(key);
        let left = self.parties.remove(key);
        self.check();
        (stage, left)
    }

    /// The same for a hungry party that gives up: what it was handed goes to others.
    pub(crate) fn give_up(&mut self, key: Key) -> (Left<T>, Wakes) {
        let order = self.parties[key].order;
        let (stage, mut left) = self.withdraw(Side::Hungry, key);
        let wakes = match left.value.take() {
            Some(value) if stage == Stage::Met => self.put_back(order, value),
            _ => Wakes::Nobody,
        };
        (left, wakes)
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
        self.check();
        self.call_joiners()
    }

    /// Whom to wake when a party is met; the other one is given back, to be dropped.
    pub(crate) fn set_waiter(&mut self, key: Key, waiter: Waiter) -> Option<Waiter> {
        self.parties[key].waiter.replace(waiter)
    }

    /// How the party is woken, if that was not done.
    pub(crate) fn waiter(&self, key: Key) -> Option<&Waiter> {
        self.parties[key].waiter.as_ref()
    }

    /// No more values: what is stored can be taken, whoever waits is told.
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
        let values = self.returned.drain(..).map(|(_, value)| value).chain(self.buffer.drain(..));
        Rest { wakes, values: values.collect() }
    }

    /// Tells all of a line that they wait in vain; a select that asks a source finds it out when it looks again.
    pub(super) fn refuse(&mut self, side: Side) -> Wakes {
        let keys: Vec<Key> = self.parties.iter(self.line(side)).map(|(key, _)| key).collect();
        let mut wakes = Wakes::Many(Vec::new());
        for key in keys {
            let claim = Caller.claim(self.parties[key].coupon.as_ref());
            if claim == Claim::Asking {
                continue;
            }
            self.unlink(side, key);
            match claim {
                // A select that was passed over, and whose source has answered since: what was stored comes first.
                Claim::Won if side == Side::Hungry && self.len() > 0 => {
                    self.parties[key].stage = Stage::Met;
                    wakes.add(self.hand_stored(key));
                }
                Claim::Won => {
                    let party = &mut self.parties[key];
                    party.stage = Stage::Refused;
                    wakes.add(Wakes::take(&mut party.waiter));
                }
                Claim::Lost | Claim::Asking | Claim::Busy => {}
            }
        }
        wakes
    }
}
