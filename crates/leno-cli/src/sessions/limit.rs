//! So many per second, and no more.

use std::cell::Cell;
use std::time::Instant;

/// A bucket: it holds `burst` at most, and `rate` flow in per second.
pub(super) struct Bucket {
    rate: f64,
    burst: f64,
    level: Cell<(f64, Instant)>,
}

impl Bucket {
    pub(super) fn new(rate: f64, burst: f64) -> Self {
        Bucket { rate, burst, level: Cell::new((burst, Instant::now())) }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&self) -> bool {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> bool {
        let (level, since) = self.level.get();
        let level = (level + self.rate * now.saturating_duration_since(since).as_secs_f64())
            .min(self.burst);
        let is_there = level >= 1.0;
        self.level.set((if is_there { level - 1.0 } else { level }, now));
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::Bucket;
    use std::time::{Duration, Instant};

    #[test]
    fn a_bucket_empties_and_fills() {
        let bucket = Bucket::new(2.0, 3.0);
        let start = Instant::now() + Duration::from_secs(1);
        let taken = |at: Duration| (0..10).filter(|_| bucket.take_at(start + at)).count();
        assert_eq!(taken(Duration::ZERO), 3);
        assert_eq!(taken(Duration::from_millis(400)), 0);
        assert_eq!(taken(Duration::from_millis(600)), 1);
        assert_eq!(taken(Duration::from_secs(60)), 3);
    }
}
