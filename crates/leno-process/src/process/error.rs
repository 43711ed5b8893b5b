//! Calls that a process does not take.

use core::fmt;

use leno_kernel::Name;
use leno_kernel::layer::user::{self, Panic};

/// An entry was not called; the arguments come back.
#[derive(Clone, PartialEq, Eq)]
pub struct Refused<A> {
    /// Why.
    pub why: Refusal,
    /// Which process did not take it.
    pub process: Name,
    /// The arguments: one as it is, several as a tuple.
    pub arguments: A,
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// It was stopped, and perhaps has ended since.
    Stopped,
    /// It panicked, and was not started again.
    Failed,
    /// It has ended without being stopped: its body was dropped, or its core has ended.
    Ended,
    /// Its mailbox is full, and it refuses calls then; or the caller is itself the one who would have
    /// to make room.
    Full,
    /// Its mailbox is full, and the caller's own stack unwinds, so it cannot wait.
    Exiting,
}

impl<A> Refused<A> {
    /// The same with other arguments.
    pub fn map<B>(self, f: impl FnOnce(A) -> B) -> Refused<B> {
        Refused { why: self.why, process: self.process, arguments: f(self.arguments) }
    }
}

impl<A> fmt::Display for Refused<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} does not take the call: ", self.process.or_id(0))?;
        f.write_str(match self.why {
            Refusal::Stopped => "it was stopped",
            Refusal::Failed => "it panicked",
            Refusal::Ended => "it has ended",
            Refusal::Full => "its mailbox is full",
            Refusal::Exiting => "its mailbox is full, and the caller's own stack unwinds",
        })
    }
}

impl<A> fmt::Debug for Refused<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refused({self})")
    }
}

impl<A> std::error::Error for Refused<A> {}

/// Drops calls that were not served, all of them: what they raise goes to the failure hook. Returns an exit, which
/// goes on.
pub(super) fn drop_all<M>(calls: impl IntoIterator<Item = M>) -> Option<Panic> {
    let mut exit = None;
    for call in calls {
        if let Err(panic) = user::try_dispose(call) {
            exit = user::first(exit, user::report("a call that was not served", panic));
        }
    }
    exit
}
