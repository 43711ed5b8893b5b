//! Locks, made of channels: whoever waits, in whatever way, waits as it does for a value.
//!
//! A mutex is a channel that holds its value; to lock is to receive it, to unlock is to send it
//! back. A semaphore is a channel of permits, a condition one of wake-ups, a wait group one that
//! closes when its last sender goes. So all of them are fair (first come, first served, unless a
//! policy chooses), can be waited for by coroutines, threads and futures, and can be alternatives of
//! a select.

mod condition;
mod mutex;
mod semaphore;
mod wait_group;

pub use condition::Condition;
pub use mutex::{Guard, Mutex};
pub use semaphore::{Permit, Semaphore};
pub use wait_group::{WaitGroup, Worker};

use core::fmt;

use leno_kernel::{Reason, Time};

use crate::Label;
use crate::channel::Channel;
use crate::flavour::Flavour;
use crate::wait::Failure;

/// A lock was not had: of a mutex, a semaphore, a condition or a wait group.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockError {
    /// It would have to be waited for.
    Taken(Label),
    /// The time is over.
    TimedOut(Label),
    /// The calling coroutine's own stack unwinds, so it cannot wait.
    Exiting(Label),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockError::Taken(lock) => write!(f, "lock {lock} is taken"),
            LockError::TimedOut(lock) => write!(f, "the time to wait for lock {lock} is over"),
            LockError::Exiting(lock) => {
                write!(f, "cannot wait for lock {lock}: the coroutine's own stack unwinds")
            }
        }
    }
}

leno_context::debug_as_told!(LockError);

impl std::error::Error for LockError {}

impl<T, F: Flavour> Channel<T, F> {
    /// Receives, as one who waits for a lock; `None` when all senders are gone.
    #[inline(always)]
    #[track_caller]
    fn await_lock(&self, deadline: Option<Time>) -> Result<Option<T>, LockError> {
        match self.receive(Reason::Lock, deadline) {
            Ok(value) => Ok(Some(value)),
            Err(Failure::Closed) => Ok(None),
            Err(Failure::TimedOut) => Err(LockError::TimedOut(self.label())),
            Err(Failure::Exiting) => Err(LockError::Exiting(self.label())),
        }
    }
}

/// What all of them have.
macro_rules! about {
    ($lock:ident $(, $T:ident)?) => {
        impl<$($T,)? F: Flavour> crate::End for $lock<$($T,)? F> {
            fn object(&self) -> leno_kernel::Object {
                self.channel.object
            }
        }

        impl<$($T,)? F: Flavour> crate::Named for $lock<$($T,)? F> {
            fn named(self, name: impl Into<leno_kernel::Name>) -> Self {
                self.channel.set_name(name);
                self
            }
        }

        impl<$($T,)? F: Flavour> core::fmt::Debug for $lock<$($T,)? F> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($lock), "({})"), self.channel.label())
            }
        }

        impl<$($T,)? F: Flavour> $lock<$($T,)? F> {
            /// Who waits, the first come first.
            pub fn waiting(&self) -> Vec<crate::Who> {
                self.channel.lock().waiting(crate::exchange::Side::Hungry)
            }
        }
    };
}
use about;
