//! One alternative of a select, whatever it waits for.
//!
//! Life: [`attempt`](Alternative::attempt) as often as one likes; then perhaps
//! [`enlist`](Alternative::enlist) once, [`retry`](Alternative::retry) after every wake, and
//! [`leave`](Alternative::leave) or [`undo`](Alternative::undo) once; then perhaps
//! [`finish`](Alternative::finish). No lock is held between these calls.

use leno_kernel::{Object, Time, Waiter};

use crate::error::RecvError;
use crate::exchange::Seat;

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is done, and the select's ticket, if it has one, is settled.
    Taken,
    NotReady,
    /// The select has been met elsewhere.
    Busy,
}

/// See the module. `R` is what the handler returns.
pub(crate) trait Alternative<R> {
    /// Does it, if that needs no waiting. `seat` is given once the select stands in lines.
    fn attempt(&mut self, seat: Option<&Seat>) -> Attempt;

    /// Does it, or stands in line.
    fn enlist(&mut self, seat: &Seat, waiter: &Waiter) -> Attempt;

    /// After a wake: for what nobody but the select itself can complete.
    fn retry(&mut self, _seat: &Seat, _waiter: &Waiter) -> Attempt {
        Attempt::NotReady
    }

    /// Another is to be woken from now on; a retry follows.
    fn renew(&mut self, _old: &Waiter, _new: &Waiter) {}

    /// The select has ended: leaves the line. If a partner has completed this alternative, keeps
    /// what it brought.
    fn leave(&mut self, waiter: &Waiter);

    /// The same for a select that is given up: what a partner brought goes back.
    fn undo(&mut self, waiter: &Waiter) {
        self.leave(waiter);
    }

    /// Calls the handler of an alternative that was taken.
    fn finish(self: Box<Self>) -> R;

    /// Whether an attempt would probably succeed.
    fn is_ready(&mut self) -> bool;

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

/// An alternative of a select that gives `R`.
pub struct Arm<'a, R>(pub(crate) Box<dyn Alternative<R> + 'a>);

impl<R> core::fmt::Debug for Arm<'_, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Arm")
    }
}

/// What a select can receive from: channels, timers, locks.
pub trait Receive: sealed::Sealed {
    /// What is received.
    type Item<'a>
    where
        Self: 'a;

    /// An alternative that receives from it.
    fn arm<'a, R: 'a>(
        &'a self,
        handler: impl FnOnce(Result<Self::Item<'a>, RecvError>) -> R + 'a,
    ) -> Arm<'a, R>;
}

pub(crate) mod sealed {
    /// Nobody else can make one.
    pub trait Sealed {}
}
