//! How long the reads and the writes of a socket may wait.
//!
//! Kept here and not with the system's socket, whose own limits are for calls that block. Clones of a
//! socket share them, as in `std`.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io;

use leno_kernel::{Time, deadline_in};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) read: Limit,
    pub(crate) write: Limit,
}

/// In nanoseconds; none if 0.
#[derive(Debug, Default)]
pub(crate) struct Limit(AtomicU64);

impl Limit {
    pub(crate) fn set(&self, limit: Option<Duration>) -> io::Result<()> {
        if limit.is_some_and(|limit| limit.is_zero()) {
            let rule = "a limit of nothing would let nothing wait; use the `try_` forms, or `None`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
        }
        let nanos = limit.map_or(0, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        self.0.store(nanos, Relaxed);
        Ok(())
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        let nanos = self.0.load(Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    /// When an operation that begins now has waited for too long.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.get().map(deadline_in)
    }
}
