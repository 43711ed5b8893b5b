//! Receiving from a channel and sending to one, as alternatives.

use leno_kernel::{Object, Waiter};

use super::alternative::{Alternative, Arm, Attempt, Receive, sealed};
use super::ticket::{Caller, Claimant};
use crate::channel::Channel;
use crate::error::{RecvError, SendError};
use crate::exchange::{Exchange, Key, Put, Seat, Side, Taken};
use crate::flavour::Flavour;
use crate::{Receiver, Sender};

/// Receives.
pub(crate) struct Take<'a, T, F: Flavour, H> {
    channel: &'a Channel<T, F>,
    key: Option<Key>,
    /// `None` inside: nothing will ever come.
    taken: Option<Option<T>>,
    handler: H,
}

impl<'a, T, F: Flavour, H> Take<'a, T, F, H> {
    pub(crate) fn new(channel: &'a Channel<T, F>, handler: H) -> Self {
        Take { channel, key: None, taken: None, handler }
    }

    fn take<C: Claimant>(&mut self, claimant: &C, enlist: Option<(&Seat, &Waiter)>) -> Attempt {
        // Cloning may be code of another executor.
        let enlist = enlist.map(|(seat, waiter)| (seat.clone(), waiter.clone()));
        let mut exchange = self.channel.lock();
        let taken = exchange.take(claimant);
        if let (Taken::Empty, Some((seat, waiter))) = (&taken, enlist) {
            let (key, _nobody) = exchange.wait(Side::Hungry, waiter, None, Some(seat));
            self.key = Some(key);
        }
        drop(exchange);
        match taken {
            Taken::Value(value, wakes) => {
                wakes.wake();
                self.taken = Some(Some(value));
                Attempt::Taken
            }
            Taken::Closed => {
                self.taken = Some(None);
                Attempt::Taken
            }
            Taken::Empty => Attempt::NotReady,
            Taken::Busy => Attempt::Busy,
        }
    }
}

impl<T, F: Flavour, H, R> Alternative<R> for Take<'_, T, F, H>
where
    H: FnOnce(Option<T>) -> R,
{
    fn attempt(&mut self, seat: Option<&Seat>) -> Attempt {
        match seat {
            None => self.take(&Caller, None),
            Some(seat) => self.take(seat, None),
        }
    }

    fn enlist(&mut self, seat: &Seat, waiter: &Waiter) -> Attempt {
        self.take(seat, Some((seat, waiter)))
    }

    fn renew(&mut self, _: &Waiter, new: &Waiter) {
        renew(self.channel, self.key, new);
    }

    fn leave(&mut self, _: &Waiter) {
        let Some(key) = self.key.take() else { return };
        let (stage, mut left) = self.channel.lock().withdraw(Side::Hungry, key);
        if stage != crate::exchange::Stage::Waiting {
            self.taken = Some(left.value.take());
        }
    }

    fn undo(&mut self, _: &Waiter) {
        let Some(key) = self.key.take() else { return };
        let (left, wakes) = self.channel.lock().give_up(key);
        wakes.wake();
        drop(left);
    }

    fn finish(self: Box<Self>) -> R {
        (self.handler)(self.taken.expect("it was taken"))
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

impl<T, F: Flavour> sealed::Sealed for Receiver<T, F> {}

impl<T, F: Flavour> Receive for Receiver<T, F> {
    type Item<'a>
        = T
    where
        Self: 'a;

    fn arm<'a, R: 'a>(
        &'a self,
        handler: impl FnOnce(Result<T, RecvError>) -> R + 'a,
    ) -> Arm<'a, R> {
        let channel: &Channel<T, F> = &self.channel;
        Arm(Box::new(Take::new(channel, move |value: Option<T>| {
            handler(value.ok_or_else(|| RecvError::Closed(channel.label())))
        })))
    }
}

/// Sends.
pub(crate) struct Give<'a, T, F: Flavour, H> {
    channel: &'a Channel<T, F>,
    key: Option<Key>,
    /// What is to be sent, unless it stands in line; or came back.
    value: Option<T>,
    handler: H,
}

impl<'a, T, F: Flavour, H> Give<'a, T, F, H> {
    pub(crate) fn new(sender: &'a Sender<T, F>, value: T, handler: H) -> Self {
        Give { channel: &sender.channel, key: None, value: Some(value), handler }
    }

    fn give<C: Claimant>(&mut self, claimant: &C, enlist: Option<(&Seat, &Waiter)>) -> Attempt {
        let enlist = enlist.map(|(seat, waiter)| (seat.clone(), waiter.clone()));
        let Some(value) = self.value.take() else { return Attempt::NotReady };
        let mut exchange = self.channel.lock();
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
                match enlist {
                    None => self.value = Some(value),
                    Some((seat, waiter)) => self.stand(exchange, value, seat, waiter),
                }
                Attempt::NotReady
            }
        }
    }

    fn stand(
        &mut self,
        mut exchange: F::Guard<'_, Exchange<T>>,
        value: T,
        seat: Seat,
        waiter: Waiter,
    ) {
        let (key, wakes) = exchange.wait(Side::Blocked, waiter, Some(value), Some(seat));
        self.key = Some(key);
        drop(exchange);
        wakes.wake();
    }
}

impl<T, F: Flavour, H, R> Alternative<R> for Give<'_, T, F, H>
where
    H: FnOnce(Result<(), SendError<T>>) -> R,
{
    fn attempt(&mut self, seat: Option<&Seat>) -> Attempt {
        match seat {
            None => self.give(&Caller, None),
            Some(seat) => self.give(seat, None),
        }
    }

    fn enlist(&mut self, seat: &Seat, waiter: &Waiter) -> Attempt {
        self.give(seat, Some((seat, waiter)))
    }

    fn renew(&mut self, _: &Waiter, new: &Waiter) {
        renew(self.channel, self.key, new);
    }

    fn leave(&mut self, _: &Waiter) {
        let Some(key) = self.key.take() else { return };
        let (_, mut left) = self.channel.lock().withdraw(Side::Blocked, key);
        self.value = left.value.take();
    }

    fn finish(self: Box<Self>) -> R {
        let result = match self.value {
            None => Ok(()),
            Some(value) => Err(SendError::Closed(value, self.channel.label())),
        };
        (self.handler)(result)
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

/// Lets another waiter stand for whoever stands at `key`, if anyone does.
fn renew<T, F: Flavour>(channel: &Channel<T, F>, key: Option<Key>, new: &Waiter) {
    // Cloning and dropping may be code of another executor: not under the lock.
    let (Some(key), waiter) = (key, new.clone()) else { return };
    let old = channel.lock().renew(key, waiter);
    drop(old);
}
