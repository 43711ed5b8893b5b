//! What an engine has done, in numbers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What an engine has done since it was opened, in this process.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        #[non_exhaustive]
        pub struct Metrics {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            pub(crate) fn read(&self) -> Metrics {
                Metrics { $($name: self.$name.load(Relaxed),)* }
            }
        }

        /// One figure a line, in the text format that collectors of metrics read.
        impl fmt::Display for Metrics {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(writeln!(f, concat!("leno_session_", stringify!($name), "_total {}"), self.$name)?;)*
                Ok(())
            }
        }
    };
}

figures! {
    /// Sessions started.
    started,
    /// Messages sent from outside.
    sent,
    /// Leases granted.
    leased,
    /// Leases given back without a step.
    released,
    /// Steps run, stored or not.
    steps,
    /// Steps stored.
    stored,
    /// Steps not stored, because their lease was no longer the session's.
    fenced,
    /// Transactions of steps.
    commits,
    /// Sessions that have returned.
    done,
    /// Steps that panicked.
    failed,
    /// Sessions quarantined.
    quarantined,
    /// Of those, sessions whose steps ended their process, or of which something stored is damaged.
    poisoned,
    /// Batches whose steps were stored one by one, because one of them could not be.
    isolated,
    /// Workers that ended early, because of an error of the store that does not pass.
    ended,
    /// Messages deleted that were taken long ago.
    swept,
    /// Messages put aside because the routine could not read them.
    refused,
    /// Effects delivered and confirmed.
    delivered,
    /// Effects whose delivery failed; they are handed out again.
    undelivered,
    /// Operations that were tried again, because the store was busy or away.
    retried,
    /// Times that a worker found nothing to do.
    idle,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Relaxed);
    }
}
