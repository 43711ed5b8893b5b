//! One channel of a join: locked, looked at, and either taken from or not.

use leno_kernel::layer::user;
use leno_kernel::{Object, Waiter};

use super::ticket::Ticket;
use crate::channel::Channel;
use crate::exchange::{Coupon, Exchange, Key, Offer, Offers, Own, Side, Wakes};
use crate::flavour::Flavour;
use crate::{Label, Receiver};

/// What a join does with each of its channels. Between [`lock`](Strand::lock) and
/// [`unlock`](Strand::unlock) nobody else sees the channel.
pub trait Strand {
    /// Which channel.
    fn object(&self) -> Object;
    /// What messages call it.
    fn label(&self) -> Label;
    /// Has a policy say whom to meet, before anything is locked.
    fn ask(&mut self, own: Option<&Ticket>);
    /// Locks it.
    fn lock(&mut self);
    /// Releases the lock; then [`wake`](Strand::wake).
    fn unlock(&mut self);
    /// Wakes whoever was met.
    fn wake(&mut self);
    /// What can be taken now, other than from one's own select.
    fn offers(&self, own: Option<&Ticket>) -> Offers;
    /// Takes it.
    fn accept(&mut self, offer: &Offer);
    /// Stands in line, or renews the waiter of one that does.
    fn stand(&mut self, coupon: Coupon, waiter: Waiter);
    /// Leaves the line. Locks by itself.
    fn leave(&mut self);
    /// The same, and what was taken goes back.
    fn undo(&mut self);
    /// A number that changes from one fair select to the next.
    fn turn(&mut self) -> usize;
}

/// What a strand is between two attempts: where it stands in line, and the value that was accepted. It
/// holds no lock, so that a join that waits may go to another thread.
pub struct Intake<'a, T, F: Flavour> {
    channel: &'a Channel<T, F>,
    own: Option<Own<'a, T, F>>,
    /// The value, and its order.
    value: Option<(u64, T)>,
}

/// A strand, for the time of an attempt.
pub(crate) struct Held<'h, 'a, T, F: Flavour> {
    intake: &'h mut Intake<'a, T, F>,
    exchange: Option<Exchange<'a, T, F>>,
    /// What is left to do once no lock is held.
    wakes: Wakes,
    old: Option<Waiter>,
    /// Whom a policy has chosen.
    chosen: Option<Key>,
}

impl<'a, T, F: Flavour> Intake<'a, T, F> {
    pub(crate) fn new(receiver: &'a Receiver<T, F>) -> Self {
        Intake { channel: &receiver.channel, own: None, value: None }
    }

    /// For an attempt.
    pub(crate) fn held(&mut self) -> Held<'_, 'a, T, F> {
        Held { intake: self, exchange: None, wakes: Wakes::Nobody, old: None, chosen: None }
    }

    /// The value that was accepted.
    pub(crate) fn value(self) -> T {
        self.value.expect("a join that was taken has a value of each channel").1
    }
}

impl<'a, T, F: Flavour> Held<'_, 'a, T, F> {
    fn locked(&mut self) -> &mut Exchange<'a, T, F> {
        self.exchange.as_mut().expect("it is locked")
    }
}

impl<T, F: Flavour> Strand for Held<'_, '_, T, F> {
    fn object(&self) -> Object {
        self.intake.channel.object
    }

    fn label(&self) -> Label {
        self.intake.channel.label()
    }

    fn ask(&mut self, own: Option<&Ticket>) {
        let channel = self.intake.channel;
        self.chosen = channel.asked(channel.lock(), Side::Blocked, own).preferred();
    }

    fn lock(&mut self) {
        let exchange = self.intake.channel.lock();
        exchange.prefer(self.chosen.take());
        self.exchange = Some(exchange);
    }

    fn unlock(&mut self) {
        self.exchange = None;
    }

    fn wake(&mut self) {
        core::mem::replace(&mut self.wakes, Wakes::Nobody).wake();
        if let Some(old) = self.old.take() {
            user::without_exit(|| user::discard(old));
        }
    }

    fn offers(&self, own: Option<&Ticket>) -> Offers {
        self.exchange.as_ref().expect("it is locked").offers(own)
    }

    fn accept(&mut self, offer: &Offer) {
        let order = self.locked().next_order();
        let (value, wakes) = self.locked().accept(offer);
        self.intake.value = Some((order, value));
        self.wakes = wakes;
    }

    fn stand(&mut self, coupon: Coupon, waiter: Waiter) {
        let exchange = self.exchange.as_mut().expect("it is locked");
        match &self.intake.own {
            Some(own) => self.old = exchange.renew(own, waiter),
            None => self.intake.own = Some(exchange.wait_joining(waiter, coupon)),
        }
    }

    fn leave(&mut self) {
        let Some(own) = self.intake.own.take() else { return };
        let left = self.intake.channel.lock().withdraw(own);
        drop(left);
    }

    fn undo(&mut self) {
        // The value first: leaving may run code of a user, that of a waker.
        if let Some((order, value)) = self.intake.value.take() {
            let wakes = self.intake.channel.lock().put_back(order, value);
            wakes.wake();
        }
        self.leave();
    }

    fn turn(&mut self) -> usize {
        self.intake.channel.lock().next_turn()
    }
}
