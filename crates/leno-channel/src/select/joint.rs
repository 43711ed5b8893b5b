//! A join as an alternative: one value of each channel, or none of any.
//!
//! All its channels are locked, in the order of their numbers, while it looks and takes; so nobody
//! ever sees a join that has taken some of its values. What it takes from other selects is settled
//! together with its own ticket, all or none. Nobody completes a join from outside: who has
//! something to offer leaves it in the channel and wakes the joiners, which look again.

use leno_kernel::{Object, Waiter};

use super::alternative::{Alternative, Attempt};
use super::leg::Leg;
use super::pairing::pair;
use super::ticket::settle_all;
use crate::Label;
use crate::exchange::{Offer, Offers, Seat};

/// The legs of a join, as one.
pub(crate) trait Legs {
    /// What they receive together.
    type Values;
    fn legs(&mut self) -> Vec<&mut dyn Leg>;
    fn values(self) -> Self::Values;
}

/// See the module.
pub(crate) struct Joint<L, H> {
    legs: L,
    /// Of these channels one is closed.
    closed: Option<Label>,
    is_shared: bool,
    handler: H,
}

impl<L: Legs, H> Joint<L, H> {
    /// # Panics
    /// If a channel is there twice.
    #[track_caller]
    pub(crate) fn new(mut legs: L, handler: H) -> Self {
        let mut objects: Vec<_> = legs.legs().iter().map(|leg| leg.object()).collect();
        assert!(!objects.is_empty(), "a join needs a channel to receive from");
        objects.sort();
        let twice = objects.windows(2).find(|pair| pair[0] == pair[1]);
        if let Some(twice) = twice {
            panic!(
                "a join receives one value of each channel, but channel {} is there twice",
                twice[0]
            );
        }
        let is_shared = objects.iter().any(|object| object.is_shared());
        Joint { legs, closed: None, is_shared, handler }
    }

    fn try_join(&mut self, seat: Option<&Seat>, waiter: Option<&Waiter>) -> Attempt {
        // Cloning may be code of another executor: not under a lock.
        let count = self.legs.legs().len();
        let waiters: Vec<_> = waiter.map_or(Vec::new(), |waiter| vec![waiter.clone(); count]);
        let mut legs = self.legs.legs();
        legs.sort_by_key(|leg| leg.object().number());
        legs.iter_mut().for_each(|leg| leg.lock());
        let (attempt, closed) = take_all(&mut legs, seat);
        if let (Attempt::NotReady, Some(seat)) = (attempt, seat) {
            for (leg, waiter) in legs.iter_mut().zip(waiters) {
                leg.stand(seat.clone(), waiter);
            }
        }
        legs.iter_mut().for_each(|leg| leg.unlock());
        legs.iter_mut().for_each(|leg| leg.wake());
        if let Some(place) = closed {
            let label = legs[place].label();
            self.closed = Some(label);
        }
        attempt
    }
}

/// Takes a value from each of the locked legs, or from none; or finds that one is closed.
fn take_all(legs: &mut [&mut dyn Leg], seat: Option<&Seat>) -> (Attempt, Option<usize>) {
    let own = seat.map(|seat| &*seat.ticket);
    loop {
        let mut offers: Vec<Vec<Offer>> = Vec::with_capacity(legs.len());
        let mut is_ready = true;
        for (place, leg) in legs.iter().enumerate() {
            match leg.offers(own) {
                Offers::Some(some) => offers.push(some),
                Offers::Nothing => is_ready = false,
                Offers::Closed if seat.is_some_and(|own| !own.ticket.settle(own.alternative)) => {
                    return (Attempt::Busy, None);
                }
                Offers::Closed => return (Attempt::Taken, Some(place)),
            }
        }
        let Some(chosen) = is_ready.then(|| pair(&offers)).flatten() else {
            return (Attempt::NotReady, None);
        };
        let mut seats: Vec<&Seat> = chosen.iter().filter_map(|offer| offer.seat()).collect();
        seats.extend(seat);
        match settle_all(&mut seats) {
            Ok(()) => {
                for (leg, offer) in legs.iter_mut().zip(&chosen) {
                    leg.accept(offer);
                }
                return (Attempt::Taken, None);
            }
            Err(done) if own.is_some_and(|own| core::ptr::eq(own, &*done.ticket)) => {
                return (Attempt::Busy, None);
            }
            // That one has gone, and is offered no more.
            Err(_) => {}
        }
    }
}

impl<L: Legs, H, R> Alternative<R> for Joint<L, H>
where
    H: FnOnce(Result<L::Values, Label>) -> R,
{
    fn attempt(&mut self, seat: Option<&Seat>) -> Attempt {
        debug_assert!(seat.is_none(), "whoever has a seat stands in line");
        self.try_join(None, None)
    }

    fn enlist(&mut self, seat: &Seat, waiter: &Waiter) -> Attempt {
        self.try_join(Some(seat), Some(waiter))
    }

    fn retry(&mut self, seat: &Seat, waiter: &Waiter) -> Attempt {
        self.try_join(Some(seat), Some(waiter))
    }

    fn leave(&mut self, _: &Waiter) {
        self.legs.legs().into_iter().for_each(|leg| leg.leave());
    }

    fn finish(self: Box<Self>) -> R {
        let this = *self;
        let values = match this.closed {
            Some(label) => Err(label),
            None => Ok(this.legs.values()),
        };
        (this.handler)(values)
    }

    fn is_ready(&mut self) -> bool {
        let mut legs = self.legs.legs();
        legs.sort_by_key(|leg| leg.object().number());
        legs.iter_mut().for_each(|leg| leg.lock());
        let is_ready = legs.iter().all(|leg| !matches!(leg.offers(None), Offers::Nothing));
        legs.iter_mut().for_each(|leg| leg.unlock());
        is_ready
    }

    fn object(&self) -> Option<Object> {
        None
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn turn(&mut self) -> Option<usize> {
        self.legs.legs().first_mut().map(|leg| leg.turn())
    }
}
