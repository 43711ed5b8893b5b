//! Coroutines that may change threads: stealing.
//!
//! In safe code a started coroutine stays on its thread. With the `unsafe` promise of
//! [`Builder::migratable`](crate::Builder::migratable) (asymmetric) or
//! [`Builder::spawn_migratable`](crate::Builder::spawn_migratable) (a ring member) another thread
//! can take it: [`Migrant::steal`] and [`Member::steal`] either succeed at once, say that it is
//! busy (`Ok(false)`), or say why it cannot be stolen as it is. The thread that loses it takes no
//! part and is not stopped.
//!
//! After that the coroutine sees the new thread: its ring, its identity, its thread-locals. What
//! it may no longer use says so: a member of the old ring (`OtherThread`), an asymmetric coroutine
//! that was not stolen as well (`OtherThread`).
//!
//! Other roles can be built from it: a coroutine is handed over by sending its handle to the
//! thread that is to steal it, and a third thread can do that as well.
//!
//! # Examples
//! ```
//! # use leno_coroutine as leno;
//! use leno::{Builder, Step};
//!
//! // SAFETY: the body keeps nothing but integers across its suspensions.
//! let counter = unsafe {
//!     Builder::new().migratable(|co, ()| (1..4).for_each(|n| co.suspend(n)))
//! }?;
//! assert_eq!(counter.resume(()), Step::Suspended(1));
//! std::thread::scope(|s| {
//!     s.spawn(|| {
//!         assert!(counter.steal().unwrap());
//!         assert_eq!(counter.resume(()), Step::Suspended(2));
//!     });
//! });
//! assert!(counter.try_resume(()).is_err(), "it belongs to the other thread now");
//! # Ok::<(), leno::CreateError>(())
//! ```

use core::fmt;

pub use crate::raw::migrate::{Guard, Lock, MemberMigrant as Member, Migrant, OwnedGuard, pinned};
use crate::ring::RingError;

/// Why a coroutine cannot be stolen as it is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StealError {
    /// It belongs to this thread already.
    OwnThread {
        /// The coroutine, quoted, or its id.
        name: String,
    },
    /// It has returned, panicked or exited.
    Finished {
        /// The coroutine, quoted, or its id.
        name: String,
    },
    /// It holds a lock that belongs to its thread.
    Locked {
        /// The coroutine, quoted, or its id.
        name: String,
    },
    /// It is inside a pinned section.
    Pinned {
        /// The coroutine, quoted, or its id.
        name: String,
    },
    /// It is asymmetric and has not returned to its resumer: it runs, or waits for a coroutine it
    /// has itself resumed.
    NotReturned {
        /// The coroutine, quoted, or its id.
        name: String,
    },
    /// It is the initial member of its thread's ring.
    Initial,
    /// It was not made migratable.
    NotMigratable {
        /// The coroutine, quoted, or its id.
        name: String,
    },
    /// There is no ring here to take it to.
    Ring(RingError),
}

impl fmt::Display for StealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StealError::OwnThread { name } => {
                write!(f, "coroutine {name} belongs to this thread already")
            }
            StealError::Finished { name } => write!(f, "coroutine {name} is finished"),
            StealError::Locked { name } => {
                write!(f, "coroutine {name} holds a lock that belongs to its thread")
            }
            StealError::Pinned { name } => {
                write!(f, "coroutine {name} is inside a pinned section")
            }
            StealError::NotReturned { name } => {
                write!(f, "asymmetric coroutine {name} has not returned to its resumer")
            }
            StealError::Initial => {
                f.write_str("the initial member of a ring is its thread: it cannot be stolen")
            }
            StealError::NotMigratable { name } => {
                write!(f, "coroutine {name} was not made migratable")
            }
            StealError::Ring(error) => error.fmt(f),
        }
    }
}

leno_context::debug_as_told!(StealError);

impl std::error::Error for StealError {}

impl From<RingError> for StealError {
    fn from(error: RingError) -> Self {
        StealError::Ring(error)
    }
}
