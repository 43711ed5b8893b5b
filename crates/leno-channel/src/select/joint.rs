//! A join as an alternative: one value of each channel, or none of any.
//!
//! All its channels are locked, in the order of their numbers, while it looks and takes; so nobody
//! ever sees a join that has taken some of its values. What it takes from other selects is settled
//! together with its own ticket, all or none. Nobody completes a join from outside: who has
//! something to offer leaves it in the channel and wakes the joiners, which look again.

use leno_kernel::layer::user;
use leno_kernel::{Object, Waiter};

use super::alternative::{Alternative, Attempt, Step};
use super::pairing::pair;
use super::strand::Strand;
use super::ticket::{Claim, Claimant, settle_all};
use crate::Label;
use crate::error::RecvError;
use crate::exchange::{Coupon, Offer, Offers};

/// The strands of a join, as one.
pub trait Strands {
    /// What they receive together.
    type Values;
    /// Does something with them, in any order.
    fn each<X>(&mut self, f: impl FnOnce(&mut [&mut dyn Strand]) -> X) -> X;
    /// What they have received.
    fn values(self) -> Self::Values;
}

/// See the module.
pub struct Joint<L, H> {
    strands: L,
    /// Of these channels one is closed.
    closed: Option<Label>,
    is_shared: bool,
    handler: H,
}

impl<L: Strands, H> Joint<L, H> {
    /// # Panics
    /// If a channel is there twice.
    #[track_caller]
    pub(crate) fn new(mut strands: L, handler: H) -> Self {
        let mut objects: Vec<_> =
            strands.each(|all| all.iter().map(|strand| strand.object()).collect());
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
        Joint { strands, closed: None, is_shared, handler }
    }

    fn try_join(&mut self, coupon: Option<&Coupon>, waiter: Option<&Waiter>) -> Attempt {
        let (attempt, closed) = self.strands.each(|strands| {
            // Cloning may be code of another executor: not under a lock.
            let waiters: Vec<_> =
                waiter.map_or(Vec::new(), |waiter| vec![waiter.clone(); strands.len()]);
            let own = coupon.map(|coupon| &*coupon.ticket);
            strands.iter_mut().for_each(|strand| strand.ask(own));
            lock_all(strands);
            let (attempt, closed) = take_all(strands, coupon);
            if let (Attempt::NotReady, Some(coupon)) = (attempt, coupon) {
                for (strand, waiter) in strands.iter_mut().zip(waiters) {
                    strand.stand(coupon.clone(), waiter);
                }
            }
            strands.iter_mut().for_each(|strand| strand.unlock());
            strands.iter_mut().for_each(|strand| strand.wake());
            (attempt, closed.map(|place| strands[place].label()))
        });
        if closed.is_some() {
            self.closed = closed;
        }
        attempt
    }
}

/// Calls `f` for all strands, also after one has raised something; that goes on when all are done.
fn each(strands: &mut [&mut dyn Strand], mut f: impl FnMut(&mut dyn Strand)) {
    let mut raised = None;
    for strand in strands {
        raised = user::first(raised, user::call(|| f(&mut **strand)).err());
    }
    if let Some(raised) = raised {
        raised.resume();
    }
}

/// In the order of their numbers, in which they then are.
fn lock_all(strands: &mut [&mut dyn Strand]) {
    strands.sort_by_key(|strand| strand.object().number());
    strands.iter_mut().for_each(|strand| strand.lock());
}

/// Takes a value from each of the locked strands, or from none; or finds that one is closed.
fn take_all(strands: &mut [&mut dyn Strand], coupon: Option<&Coupon>) -> (Attempt, Option<usize>) {
    let own = coupon.map(|coupon| &*coupon.ticket);
    loop {
        let mut offers: Vec<Vec<Offer>> = Vec::with_capacity(strands.len());
        let mut is_ready = true;
        for (place, strand) in strands.iter().enumerate() {
            match strand.offers(own) {
                Offers::Some(some) => offers.push(some),
                Offers::Nothing => is_ready = false,
                Offers::Closed => {
                    return match coupon.map_or(Claim::Won, |own| own.claim(None)) {
                        Claim::Won => (Attempt::Taken, Some(place)),
                        _ => (Attempt::Busy, None),
                    };
                }
            }
        }
        let Some(chosen) = is_ready.then(|| pair(&offers)).flatten() else {
            return (Attempt::NotReady, None);
        };
        let mut coupons: Vec<&Coupon> = chosen.iter().filter_map(|offer| offer.coupon()).collect();
        coupons.extend(coupon);
        match settle_all(&mut coupons) {
            Ok(()) => {
                for (strand, offer) in strands.iter_mut().zip(&chosen) {
                    strand.accept(offer);
                }
                return (Attempt::Taken, None);
            }
            Err(which) if own.is_some_and(|own| core::ptr::eq(own, &*which.ticket)) => {
                return (Attempt::Busy, None);
            }
            // That one has gone, or asks a source, and is offered no more.
            Err(_) => {}
        }
    }
}

impl<L: Strands, H> Step for Joint<L, H> {
    fn attempt(&mut self, coupon: Option<&Coupon>) -> Attempt {
        debug_assert!(coupon.is_none(), "whoever has a coupon stands in line");
        self.try_join(None, None)
    }

    fn enlist(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.try_join(Some(coupon), Some(waiter))
    }

    fn retry(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.try_join(Some(coupon), Some(waiter))
    }

    fn look_again(&mut self, coupon: &Coupon, waiter: &Waiter) {
        self.try_join(Some(coupon), Some(waiter));
    }

    fn leave(&mut self, _: &Waiter) {
        self.strands.each(|all| each(all, |strand| strand.leave()));
    }

    fn undo(&mut self, _: &Waiter) {
        self.strands.each(|all| each(all, |strand| strand.undo()));
    }

    fn is_ready(&mut self) -> bool {
        self.strands.each(|strands| {
            lock_all(strands);
            let mut offers = strands.iter().map(|strand| strand.offers(None));
            let is_ready = offers.all(|offers| !matches!(offers, Offers::Nothing));
            strands.iter_mut().for_each(|strand| strand.unlock());
            is_ready
        })
    }

    fn object(&self) -> Option<Object> {
        None
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn turn(&mut self) -> Option<usize> {
        self.strands.each(|all| all.first_mut().map(|strand| strand.turn()))
    }
}

impl<L: Strands, H, R> Alternative<R> for Joint<L, H>
where
    H: FnOnce(Result<L::Values, RecvError>) -> R,
{
    fn finish(self) -> R {
        let values = match self.closed {
            Some(label) => Err(RecvError::Closed(label)),
            None => Ok(self.strands.values()),
        };
        (self.handler)(values)
    }

    fn finish_boxed(self: Box<Self>) -> R {
        self.finish()
    }
}
