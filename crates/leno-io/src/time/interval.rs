//! A beat.

use core::time::Duration;

use leno_kernel::layer::deadline_in;
use leno_kernel::{Time, now};

use super::sleep::{sleep_until, sleep_until_async};

/// What happens to beats that have passed before anyone waited for them.
///
/// # Examples
/// Whoever waits at 0, 10 and then, late, at 35, of a period of 10, gets beats at:
/// ```text
/// Burst   10 | 20, 30 at once | 40 | 50     none is left out
/// Delay   10 | 20 at once | 45 | 55         a period after the late one
/// Skip    10 | 20 at once | 40 | 50         on the beat again
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missed {
    /// They come at once, one after the other, until none is left.
    Burst,
    /// One comes at once, and the next a period later.
    Delay,
    /// One comes at once, and the next on the beat, as if none had been missed.
    #[default]
    Skip,
}

/// A beat: ends a wait every period. Of [`interval`] and [`interval_at`].
#[derive(Clone, Debug)]
pub struct Interval {
    next: Time,
    period: Duration,
    missed: Missed,
}

/// Beats every `period`, first after one period. Beats that are missed are skipped, unless
/// [`Interval::missed`] says otherwise.
///
/// # Panics
/// If the period is nothing.
///
/// # Examples
/// ```
/// use leno_io::time::{interval, now};
/// use leno_kernel::LocalSystem;
/// use std::time::Duration;
///
/// let system = LocalSystem::builder().virtual_time().build();
/// let times = system.spawn(|| {
///     let mut beats = interval(Duration::from_nanos(10));
///     [(); 3].map(|()| beats.beat().as_nanos())
/// });
/// system.run()?;
/// assert_eq!(times.join()?, [10, 20, 30]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(deadline_in(period), period)
}

/// The same, first at `first`.
///
/// # Panics
/// If the period is nothing.
#[track_caller]
pub fn interval_at(first: Time, period: Duration) -> Interval {
    assert!(!period.is_zero(), "a beat needs a period that is longer than nothing");
    Interval { next: first, period, missed: Missed::default() }
}

impl Interval {
    /// What happens to beats that are missed.
    pub fn missed(mut self, missed: Missed) -> Interval {
        self.missed = missed;
        self
    }

    /// The period.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// When the next beat is.
    pub fn next_beat(&self) -> Time {
        self.next
    }

    /// The next beat is a period from now.
    pub fn reset(&mut self) {
        self.next = deadline_in(self.period);
    }

    /// Waits for the next beat, and gives the time at which it was due.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::beat_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; the beat is not used up.
    ///
    /// # Panics
    /// Inside a future that a core polls.
    #[track_caller]
    pub fn beat(&mut self) -> Time {
        sleep_until(self.next);
        self.take()
    }

    /// As [`Self::beat`], for a future on any executor.
    ///
    /// # Cancellation
    /// A future that is dropped has not used up the beat.
    pub async fn beat_async(&mut self) -> Time {
        sleep_until_async(self.next).await;
        self.take()
    }

    fn take(&mut self) -> Time {
        let (due, now) = (self.next, now());
        self.next = match self.missed {
            Missed::Burst => due + self.period,
            Missed::Delay if now < due + self.period => due + self.period,
            Missed::Delay => now + self.period,
            Missed::Skip => {
                let late = now.since(due).as_nanos();
                let periods = late / self.period.as_nanos() + 1;
                let nanos = self.period.as_nanos().saturating_mul(periods);
                due + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        };
        due
    }
}
