//! One alternative of a select, whatever it waits for.
//!
//! Life: [`attempt`](Step::attempt) as often as one likes; then perhaps [`enlist`](Step::enlist) once,
//! [`retry`](Step::retry) after every wake, and [`leave`](Step::leave) or [`undo`](Step::undo) once;
//! then perhaps [`finish`](Alternative::finish). No lock is held between these calls.
//!
//! The types are public because a select's type says what its alternatives are; only so does the
//! compiler know whether it may go to another thread. Nobody else can name them.

use leno_kernel::{Object, Time, Waiter};

use crate::error::RecvError;
use crate::exchange::Coupon;

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is done, and the select's ticket, if it has one, is settled.
    Taken,
    /// It would have to wait.
    NotReady,
    /// The select has been met elsewhere.
    Busy,
}

/// What a select does with an alternative; see the module.
pub trait Step {
    /// Does it, if that needs no waiting. `coupon` is given once the select stands in lines.
    fn attempt(&mut self, coupon: Option<&Coupon>) -> Attempt;

    /// Does it, or stands in line.
    fn enlist(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt;

    /// After a wake: for what nobody but the select itself can complete.
    fn retry(&mut self, _coupon: &Coupon, _waiter: &Waiter) -> Attempt {
        Attempt::NotReady
    }

    /// The select was passed over while a source was asked: meets whoever it could have met in its lines.
    fn look_again(&mut self, _coupon: &Coupon, _waiter: &Waiter) {}

    /// Another is to be woken from now on; a retry follows.
    fn renew(&mut self, _old: &Waiter, _new: &Waiter) {}

    /// The select has ended: leaves the line. If a partner has completed this alternative, keeps
    /// what it brought.
    fn leave(&mut self, waiter: &Waiter);

    /// The same for a select that is given up: what was taken, or a partner brought, goes back.
    fn undo(&mut self, waiter: &Waiter) {
        self.leave(waiter);
    }

    /// Whether an attempt would probably succeed.
    fn is_ready(&mut self) -> bool;

    /// Whether there is anything that could be waited for.
    fn is_there(&self) -> bool {
        true
    }

    /// What is waited on, for policies.
    fn object(&self) -> Option<Object>;

    /// Whether other threads may complete it.
    fn is_shared(&self) -> bool {
        self.object().is_some_and(Object::is_shared)
    }

    /// When to look again at the latest.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// A number that changes from one fair select to the next.
    fn turn(&mut self) -> Option<usize> {
        None
    }
}

/// An alternative with its handler, which returns `R`.
pub trait Alternative<R>: Step {
    /// Calls the handler of an alternative that was taken.
    fn finish(self) -> R
    where
        Self: Sized;

    /// The same for one in a box.
    fn finish_boxed(self: Box<Self>) -> R;
}

/// What a select can receive from: channels, timers, locks.
pub trait Receive: sealed::Sealed {
    /// What is received.
    type Item<'a>
    where
        Self: 'a;

    /// An alternative that receives from it.
    type Arm<'a, R, H>: Alternative<R>
    where
        Self: 'a,
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R;

    /// Makes one.
    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R;
}

/// Whatever can be received from can be by reference, so that `select!` takes both.
impl<P: Receive + ?Sized> Receive for &P {
    type Item<'a>
        = P::Item<'a>
    where
        Self: 'a;

    type Arm<'a, R, H>
        = P::Arm<'a, R, H>
    where
        Self: 'a,
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R;

    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R,
    {
        (**self).arm(handler)
    }
}

impl<P: sealed::Sealed + ?Sized> sealed::Sealed for &P {}

/// `None` is never ready: an alternative that is switched off.
impl<P: Receive> Receive for Option<P> {
    type Item<'a>
        = P::Item<'a>
    where
        Self: 'a;

    type Arm<'a, R, H>
        = Option<P::Arm<'a, R, H>>
    where
        Self: 'a,
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R;

    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R,
    {
        self.as_ref().map(|from| from.arm(handler))
    }
}

impl<P: sealed::Sealed> sealed::Sealed for Option<P> {}

impl<A: Step> Step for Option<A> {
    fn attempt(&mut self, coupon: Option<&Coupon>) -> Attempt {
        self.as_mut().map_or(Attempt::NotReady, |one| one.attempt(coupon))
    }

    fn enlist(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.as_mut().map_or(Attempt::NotReady, |one| one.enlist(coupon, waiter))
    }

    fn retry(&mut self, coupon: &Coupon, waiter: &Waiter) -> Attempt {
        self.as_mut().map_or(Attempt::NotReady, |one| one.retry(coupon, waiter))
    }

    fn look_again(&mut self, coupon: &Coupon, waiter: &Waiter) {
        self.iter_mut().for_each(|one| one.look_again(coupon, waiter));
    }

    fn renew(&mut self, old: &Waiter, new: &Waiter) {
        self.iter_mut().for_each(|one| one.renew(old, new));
    }

    fn leave(&mut self, waiter: &Waiter) {
        self.iter_mut().for_each(|one| one.leave(waiter));
    }

    fn undo(&mut self, waiter: &Waiter) {
        self.iter_mut().for_each(|one| one.undo(waiter));
    }

    fn is_ready(&mut self) -> bool {
        self.as_mut().is_some_and(Step::is_ready)
    }

    fn is_there(&self) -> bool {
        self.as_ref().is_some_and(Step::is_there)
    }

    fn object(&self) -> Option<Object> {
        self.as_ref().and_then(Step::object)
    }

    fn is_shared(&self) -> bool {
        self.as_ref().is_some_and(Step::is_shared)
    }

    fn deadline(&self) -> Option<Time> {
        self.as_ref().and_then(Step::deadline)
    }

    fn turn(&mut self) -> Option<usize> {
        self.as_mut().and_then(Step::turn)
    }
}

impl<R, A: Alternative<R>> Alternative<R> for Option<A> {
    fn finish(self) -> R {
        self.expect("what is not there is never taken").finish()
    }

    fn finish_boxed(self: Box<Self>) -> R {
        self.finish()
    }
}

pub(crate) mod sealed {
    /// Nobody else can make one.
    pub trait Sealed {}
}
