//! One channel of a join: locked, looked at, and either taken from or not.

use leno_kernel::{Object, Waiter};

use super::ticket::Ticket;
use crate::channel::Channel;
use crate::exchange::{Exchange, Key, Offer, Offers, Seat, Side, Wakes};
use crate::flavour::Flavour;
use crate::{Label, Receiver};

/// What a join does with each of its channels. Between [`lock`](Leg::lock) and
/// [`unlock`](Leg::unlock) nobody else sees the channel.
pub(crate) trait Leg {
    fn object(&self) -> Object;
    fn label(&self) -> Label;
    fn lock(&mut self);
    /// Releases the lock; then [`wake`](Leg::wake).
    fn unlock(&mut self);
    fn wake(&mut self);
    fn offers(&self, own: Option<&Ticket>) -> Offers;
    fn accept(&mut self, offer: &Offer);
    /// Stands in line, or renews the waiter of one that does.
    fn stand(&mut self, seat: Seat, waiter: Waiter);
    /// Leaves the line. Locks by itself.
    fn leave(&mut self);
    fn turn(&mut self) -> usize;
}

/// A leg that receives a `T`.
pub(crate) struct Foot<'a, T, F: Flavour> {
    channel: &'a Channel<T, F>,
    exchange: Option<F::Guard<'a, Exchange<T>>>,
    key: Option<Key>,
    value: Option<T>,
    /// What is left to do once no lock is held.
    wakes: Wakes,
    old: Option<Waiter>,
}

impl<'a, T, F: Flavour> Foot<'a, T, F> {
    pub(crate) fn new(receiver: &'a Receiver<T, F>) -> Self {
        let channel = &receiver.channel;
        Foot { channel, exchange: None, key: None, value: None, wakes: Wakes::Nobody, old: None }
    }

    /// The value that was accepted.
    pub(crate) fn value(self) -> T {
        self.value.expect("a join that was taken has a value of each channel")
    }

    fn locked(&mut self) -> &mut Exchange<T> {
        self.exchange.as_mut().expect("it is locked")
    }
}

impl<T, F: Flavour> Leg for Foot<'_, T, F> {
    fn object(&self) -> Object {
        self.channel.object
    }

    fn label(&self) -> Label {
        self.channel.label()
    }

    fn lock(&mut self) {
        self.exchange = Some(self.channel.lock());
    }

    fn unlock(&mut self) {
        self.exchange = None;
    }

    fn wake(&mut self) {
        core::mem::replace(&mut self.wakes, Wakes::Nobody).wake();
        self.old = None;
    }

    fn offers(&self, own: Option<&Ticket>) -> Offers {
        self.exchange.as_ref().expect("it is locked").offers(own)
    }

    fn accept(&mut self, offer: &Offer) {
        let (value, wakes) = self.locked().accept(offer);
        self.value = Some(value);
        self.wakes = wakes;
    }

    fn stand(&mut self, seat: Seat, waiter: Waiter) {
        match self.key {
            Some(key) => self.old = self.locked().renew(key, waiter),
            None => {
                let (key, _nobody) = self.locked().wait(Side::Joiners, waiter, None, Some(seat));
                self.key = Some(key);
            }
        }
    }

    fn leave(&mut self) {
        let Some(key) = self.key.take() else { return };
        let left = self.channel.lock().withdraw(Side::Joiners, key);
        drop(left);
    }

    fn turn(&mut self) -> usize {
        self.channel.lock().next_turn()
    }
}
