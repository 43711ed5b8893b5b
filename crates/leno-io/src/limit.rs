//! How long an operation may wait.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use leno_kernel::Time;
use leno_kernel::layer::deadline_in;

/// In nanoseconds; none if 0.
#[derive(Debug, Default)]
pub(crate) struct Limit(AtomicU64);

impl Limit {
    /// A limit of nothing is none.
    pub(crate) fn set(&self, limit: Option<Duration>) {
        let nanos = limit.map_or(0, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        self.0.store(nanos, Relaxed);
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
