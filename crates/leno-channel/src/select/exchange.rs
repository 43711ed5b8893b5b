//! Receiving from a channel and sending to one, as alternatives.

use leno_kernel::layer::user;
use leno_kernel::{Object, Waiter};

use super::alternative::{Alternative, Attempt, Receive, Step, sealed};
use super::ticket::{Caller, Claimant};
use crate::channel::Channel;
use crate::error::{RecvError, SendError};
use crate::exchange::{Coupon, Exchange, Own, Put, Side, Stage, Taken, Wakes};
use crate::flavour::Flavour;
use crate::{Receiver, Sender};

/// What is made of what an exchange gives, or of its end.
pub trait Wrap<T> {
    /// What the handler gets.
    type Item;
    /// Makes it; `None`: nothing will ever come.
    fn wrap(self, value: Option<T>) -> Result<Self::Item, RecvError>;
}

/// Values of a channel are given as they are.
impl<T, F: Flavour> Wrap<T> for &Receiver<T, F> {
    type Item = T;

    fn wrap(self, value: Option<T>) -> Result<T, RecvError> {
        value.ok_or_else(|| RecvError::Closed(self.label()))
    }
}

/// Receives.
pub struct Take<'a, T, F: Flavour, W, H> {
    channel: &'a Channel<T, F>,
    own: Option<Own<'a, T, F>>,
    /// `None` inside: nothing will ever come.
    taken: Option<Option<T>>,
    /// Of what was taken while the select stood in lines.
    order: u64,
    wrap: W,
    handler: H,
}

impl<'a, T, F: Flavour, W, H> Take<'a, T, F, W, H> {
    pub(crate) fn new(channel: &'a Channel<T, F>, wrap: W, handler: H) -> Self {
        Take { channel, own: None, taken: None, order: 0, wrap, handler }
    }

    fn take<C: Claimant>(&mut self, claimant: &C, enlist: Option<(&Coupon, &Waiter)>) -> Attempt {
        // Cloning may be code of another executor.
        let enlist = enlist.map(|(coupon, waiter)| (coupon.clone(), waiter.clone()));
        let mut unused = Discard(enlist);
        let exchange = self.channel.lock();
        let mut exchange = self.channel.asked(exchange, Side::Blocked, claimant.ticket());
        if unused.0.is_some() {
            self.order = exchange.next_order();
        }
        let taken = exchange.take(claimant);
        if let Taken::Empty = taken
            && let Some((coupon, waiter)) = unused.0.take()
        {
            self.own = Some(exchange.wait_hungry(waiter, Some(coupon)));
        }
        drop(exchange);
        // Kept before anyone is woken or dropped: what that raises must not lose it.
        let (attempt, wakes) = match taken {
            Taken::Value(value, wakes) => {
                self.taken = Some(Some(value));
                (Attempt::Taken, wakes)
            }
            Taken::Closed => {
                self.taken = Some(None);
                (Attempt::Taken, Wakes::Nobody)
            }
            Taken::Empty => (Attempt::NotReady, Wakes::Nobody),
            Taken::Busy => (Attempt::Busy, Wakes::Nobody),
        };
        wakes.wake();
        attempt
    }
}

/// A waiter that was not needed: dropped with whatever is left of it, after the lock.
struct Discard(Option<(Coupon, Waiter)>);

impl Drop for Discard {
    fn drop(&mut self) {
        if let Some(unused) = self.0.take() {
            user::discard(unused);
        }
    }
}

impl<T, F: Flavour, W, H> Step for Take<'_, T, F, W, H> {
    fn attempt(&mut self, coupon: Option<&Coupon>) -> Attempt {
        match coupon {
            None => self.take(&Caller, None),
            Some(coupon) => self.take(coupon, None),
        }
    }

    fn enlist(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.take(coupon, Some((coupon, waiter)))
    }

    fn look_again(&mut self, _: &Coupon, _: &Waiter) {
        if let Some(own) = &self.own {
            self.channel.look_again(own);
        }
    }

    fn renew(&mut self, _: &Waiter, new: &Waiter) {
        renew(self.channel, self.own.as_ref(), new);
    }

    fn leave(&mut self, _: &Waiter) {
        let Some(own) = self.own.take() else { return };
        let mut left = self.channel.lock().withdraw(own);
        if left.stage != Stage::Waiting {
            self.taken = Some(left.payload.value.take());
        }
    }

    fn undo(&mut self, _: &Waiter) {
        if let Some(Some(value)) = self.taken.take() {
            let wakes = self.channel.lock().put_back(self.order, value);
            wakes.wake();
        }
        let Some(own) = self.own.take() else { return };
        let (left, wakes) = self.channel.lock().give_up(own);
        wakes.wake();
        drop(left);
    }

    fn is_ready(&mut self) -> bool {
        let exchange = self.channel.lock();
        exchange.len() > 0 || !exchange.will_come() || exchange.is_awaited(Side::Blocked, None)
    }

    fn object(&self) -> Option<Object> {
        Some(self.channel.object)
    }

    fn turn(&mut self) -> Option<usize> {
        Some(self.channel.lock().next_turn())
    }
}

impl<T, F: Flavour, W: Wrap<T>, H, R> Alternative<R> for Take<'_, T, F, W, H>
where
    H: FnOnce(Result<W::Item, RecvError>) -> R,
{
    fn finish(self) -> R {
        (self.handler)(self.wrap.wrap(self.taken.expect("it was taken")))
    }

    fn finish_boxed(self: Box<Self>) -> R {
        self.finish()
    }
}

impl<T, F: Flavour> sealed::Sealed for Receiver<T, F> {}

impl<T, F: Flavour> Receive for Receiver<T, F> {
    type Item<'a>
        = T
    where
        Self: 'a;

    type Arm<'a, R, H>
        = Take<'a, T, F, &'a Receiver<T, F>, H>
    where
        Self: 'a,
        H: FnOnce(Result<T, RecvError>) -> R;

    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R,
    {
        Take::new(&self.channel, self, handler)
    }
}

/// Sends.
pub struct Give<'a, T, F: Flavour, H> {
    channel: &'a Channel<T, F>,
    own: Option<Own<'a, T, F>>,
    /// What is to be sent, unless it stands in line; or came back.
    value: Option<T>,
    handler: H,
}

impl<'a, T, F: Flavour, H> Give<'a, T, F, H> {
    pub(crate) fn new(sender: &'a Sender<T, F>, value: T, handler: H) -> Self {
        Give { channel: &sender.channel, own: None, value: Some(value), handler }
    }

    fn give<C: Claimant>(&mut self, claimant: &C, enlist: Option<(&Coupon, &Waiter)>) -> Attempt {
        let mut enlist = Discard(enlist.map(|(coupon, waiter)| (coupon.clone(), waiter.clone())));
        let Some(value) = self.value.take() else { return Attempt::NotReady };
        let exchange = self.channel.lock();
        let mut exchange = self.channel.asked(exchange, Side::Hungry, claimant.ticket());
        match exchange.put(value, claimant) {
            Put::Done(wakes) => {
                drop(exchange);
                wakes.wake();
                Attempt::Taken
            }
            Put::Closed(value) => {
                self.value = Some(value);
                Attempt::Taken
            }
            Put::Busy(value) => {
                self.value = Some(value);
                Attempt::Busy
            }
            Put::Full(value) => {
                match enlist.0.take() {
                    None => self.value = Some(value),
                    Some((coupon, waiter)) => self.stand(exchange, value, coupon, waiter),
                }
                Attempt::NotReady
            }
        }
    }

    fn stand(
        &mut self,
        mut exchange: Exchange<'a, T, F>,
        value: T,
        coupon: Coupon,
        waiter: Waiter,
    ) {
        let (own, wakes) = exchange.wait_blocked(waiter, value, Some(coupon));
        self.own = Some(own);
        drop(exchange);
        wakes.wake();
    }
}

impl<T, F: Flavour, H> Step for Give<'_, T, F, H> {
    fn attempt(&mut self, coupon: Option<&Coupon>) -> Attempt {
        match coupon {
            None => self.give(&Caller, None),
            Some(coupon) => self.give(coupon, None),
        }
    }

    fn enlist(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.give(coupon, Some((coupon, waiter)))
    }

    fn look_again(&mut self, _: &Coupon, _: &Waiter) {
        if let Some(own) = &self.own {
            self.channel.look_again(own);
        }
    }

    fn renew(&mut self, _: &Waiter, new: &Waiter) {
        renew(self.channel, self.own.as_ref(), new);
    }

    fn leave(&mut self, _: &Waiter) {
        let Some(own) = self.own.take() else { return };
        let mut left = self.channel.lock().withdraw(own);
        self.value = left.payload.value.take();
    }

    fn is_ready(&mut self) -> bool {
        let exchange = self.channel.lock();
        !exchange.will_go() || exchange.has_room() || exchange.is_awaited(Side::Hungry, None)
    }

    fn object(&self) -> Option<Object> {
        Some(self.channel.object)
    }

    fn turn(&mut self) -> Option<usize> {
        Some(self.channel.lock().next_turn())
    }
}

impl<T, F: Flavour, H, R> Alternative<R> for Give<'_, T, F, H>
where
    H: FnOnce(Result<(), SendError<T>>) -> R,
{
    fn finish(self) -> R {
        let result = match self.value {
            None => Ok(()),
            Some(value) => Err(SendError::Closed(value, self.channel.label())),
        };
        (self.handler)(result)
    }

    fn finish_boxed(self: Box<Self>) -> R {
        self.finish()
    }
}

/// Has another waiter woken from now on, if the select stands in line here.
fn renew<'a, T, F: Flavour>(channel: &'a Channel<T, F>, own: Option<&Own<'a, T, F>>, new: &Waiter) {
    // Cloning and dropping may be code of another executor: not under the lock.
    let (Some(own), waiter) = (own, new.clone()) else { return };
    let old = channel.lock().renew(own, waiter);
    drop(old);
}
