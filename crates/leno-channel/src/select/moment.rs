//! What needs no partner and brings nothing: a time, and not waiting at all.

use leno_kernel::{Object, Time, Waiter, now};

use super::alternative::{Alternative, Attempt, Step};
use super::ticket::Change;
use crate::exchange::Coupon;

/// A time has come.
pub struct Moment<H> {
    when: Time,
    handler: H,
}

impl<H> Moment<H> {
    pub(crate) fn new(when: Time, handler: H) -> Self {
        Moment { when, handler }
    }
}

impl<H> Step for Moment<H> {
    fn attempt(&mut self, coupon: Option<&Coupon>) -> Attempt {
        // The clock is user code; it takes nothing, so the ticket need not say that it is asked.
        if self.when > now() {
            return Attempt::NotReady;
        }
        match coupon.map(|coupon| coupon.ticket.settle(coupon.alternative)) {
            None | Some(Change::Made) => Attempt::Taken,
            Some(Change::Done | Change::Asking) => Attempt::Busy,
        }
    }

    fn enlist(&mut self, coupon: &Coupon, _: &Waiter) -> Attempt {
        self.attempt(Some(coupon))
    }

    fn retry(&mut self, coupon: &Coupon, _: &Waiter) -> Attempt {
        self.attempt(Some(coupon))
    }

    fn leave(&mut self, _: &Waiter) {}

    fn is_ready(&mut self) -> bool {
        self.when <= now()
    }

    fn object(&self) -> Option<Object> {
        None
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.when)
    }
}

/// What is done instead of waiting: never taken as long as another alternative may be.
pub struct Otherwise<H> {
    handler: H,
}

impl<H> Otherwise<H> {
    pub(crate) fn new(handler: H) -> Self {
        Otherwise { handler }
    }
}

impl<H> Step for Otherwise<H> {
    fn attempt(&mut self, _: Option<&Coupon>) -> Attempt {
        Attempt::NotReady
    }

    fn enlist(&mut self, _: &Coupon, _: &Waiter) -> Attempt {
        Attempt::NotReady
    }

    fn leave(&mut self, _: &Waiter) {}

    fn is_ready(&mut self) -> bool {
        false
    }

    fn object(&self) -> Option<Object> {
        None
    }
}

macro_rules! silent {
    ($($alternative:ident),+) => {$(
        impl<R, H: FnOnce() -> R> Alternative<R> for $alternative<H> {
            fn finish(self) -> R {
                (self.handler)()
            }

            fn finish_boxed(self: Box<Self>) -> R {
                self.finish()
            }
        }
    )+};
}
silent!(Moment, Otherwise);
