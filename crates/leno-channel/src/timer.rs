//! Timers as something to receive from.
//!
//! Time is that of the system in which a timer is used, which should be the one in which it was
//! made; virtual time works.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use leno_kernel::layer::deadline_in;
use leno_kernel::{Object, Time, Waiter, now};

use crate::Label;
use crate::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::select::{Draw, Receive, Select, SelectError, Source, sealed};

/// Gives the time when its time has come; of [`after`], [`at`], [`every`] and [`never()`].
#[derive(Debug)]
pub struct Timer {
    /// When it is next due, in nanoseconds; or [`NEVER`], or [`OVER`].
    next: AtomicU64,
    period: Option<Duration>,
    object: Object,
}

const NEVER: u64 = Time::NEVER.as_nanos();
/// It has given its time.
const OVER: u64 = NEVER - 1;

/// Gives the time once, in `wait` from now.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Time};
/// use std::time::Duration;
///
/// let system = LocalSystem::builder().virtual_time().build();
/// let hour = Duration::from_secs(3_600);
/// let due = system.spawn(move || leno_channel::after(hour).recv());
/// system.run()?;
/// assert_eq!(due.join()?, Ok(Time::START + hour));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn after(wait: Duration) -> Timer {
    at(deadline_in(wait))
}

/// Gives the time once, at `time`.
///
/// # Examples
/// ```
/// let now = leno_kernel::now();
/// assert_eq!(leno_channel::at(now).try_recv(), Ok(now));
/// ```
pub fn at(time: Time) -> Timer {
    Timer::new(time, None)
}

/// Gives the time every `period`, first after one period. What is not received in time is left out.
///
/// # Panics
/// If the period is nothing.
///
/// # Examples
/// ```
/// use leno_kernel::LocalSystem;
/// use std::time::Duration;
///
/// let system = LocalSystem::builder().virtual_time().build();
/// let times = system.spawn(|| {
///     let ticks = leno_channel::every(Duration::from_nanos(10));
///     [(); 3].map(|()| ticks.recv().unwrap().as_nanos())
/// });
/// system.run()?;
/// assert_eq!(times.join()?, [10, 20, 30]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn every(period: Duration) -> Timer {
    assert!(!period.is_zero(), "a timer needs a period that is longer than nothing");
    Timer::new(deadline_in(period), Some(period))
}

/// Gives nothing, ever: for an alternative of a select that is not wanted now.
///
/// # Examples
/// ```
/// assert!(leno_channel::never().try_recv().is_err());
/// ```
pub fn never() -> Timer {
    Timer::new(Time::NEVER, None)
}

impl Timer {
    fn new(next: Time, period: Option<Duration>) -> Timer {
        // So late that it makes no difference.
        let next = if next.as_nanos() == OVER { NEVER } else { next.as_nanos() };
        Timer { next: AtomicU64::new(next), period, object: Object::local() }
    }

    fn label(&self) -> Label {
        Label::new(self.object, None)
    }

    /// The time that has come, or `None` inside if none ever will.
    fn take(&self) -> Option<Option<Time>> {
        let next = self.next.load(Relaxed);
        if next == OVER {
            return Some(None);
        }
        let (due, now) = (Time::from_nanos(next), now());
        if next == NEVER || now < due {
            return None;
        }
        let after = self.period.map_or(OVER, |period| {
            let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
            let missed = now.since(due).as_nanos() as u64 / period;
            next.saturating_add(period.saturating_mul(missed.saturating_add(1)))
        });
        // If another thread has taken it, there is nothing now.
        self.next.compare_exchange(next, after, Relaxed, Relaxed).ok().map(|_| Some(due))
    }

    fn deadline(&self) -> Option<Time> {
        let next = self.next.load(Relaxed);
        (next < OVER).then(|| Time::from_nanos(next))
    }

    /// Waits for its time.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::recv_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Errors
    /// When it has given its time already; or while the coroutine's own stack unwinds, if it would
    /// have to wait.
    ///
    /// # Panics
    /// Inside a future that a core polls; and on a plain thread, if it never ends.
    #[track_caller]
    pub fn recv(&self) -> Result<Time, RecvError> {
        match Select::new().recv(self, |time| time).wait() {
            Ok(result) => result,
            Err(_) => Err(RecvError::Exiting(self.label())),
        }
    }

    /// The time, if it has come.
    ///
    /// # Errors
    /// When it has not, or never will.
    pub fn try_recv(&self) -> Result<Time, TryRecvError> {
        match self.take() {
            Some(Some(time)) => Ok(time),
            Some(None) => Err(TryRecvError::Closed(self.label())),
            None => Err(TryRecvError::Empty(self.label())),
        }
    }

    /// As [`Self::recv`], for at most `limit`.
    ///
    /// # Errors
    /// When the limit is over first; else as [`Self::recv`].
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<Time, RecvTimeoutError> {
        let time = Select::new().priority().recv(self, Some).after(limit, || None).wait();
        match time {
            Ok(Some(Ok(time))) => Ok(time),
            Ok(Some(Err(_))) => Err(RecvTimeoutError::Closed(self.label())),
            Ok(None) => Err(RecvTimeoutError::TimedOut(self.label())),
            Err(_) => Err(RecvTimeoutError::Exiting(self.label())),
        }
    }

    /// As [`Self::recv`], for a future.
    ///
    /// # Errors
    /// When it has given its time already.
    ///
    /// # Examples
    /// ```
    /// let timer = leno_channel::after(std::time::Duration::from_millis(1));
    /// leno_kernel::block_on(timer.recv_async()).unwrap();
    /// ```
    pub async fn recv_async(&self) -> Result<Time, RecvError> {
        match Select::new().recv(self, |time| time).wait_async().await {
            Ok(result) => result,
            Err(SelectError::Exiting | SelectError::NotReady | SelectError::NoAlternative) => {
                Err(RecvError::Exiting(self.label()))
            }
        }
    }
}

impl sealed::Sealed for Timer {}

impl Receive for Timer {
    type Item<'a> = Time;

    type Arm<'a, R, H>
        = Draw<Ticks<'a>, H>
    where
        H: FnOnce(Result<Time, RecvError>) -> R;

    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R,
    {
        Draw::new(Ticks(self), handler)
    }
}

/// A timer, as a source.
pub struct Ticks<'a>(&'a Timer);

impl Source for Ticks<'_> {
    type Item = Result<Time, RecvError>;

    fn take(&mut self) -> Option<Self::Item> {
        let taken = self.0.take()?;
        Some(taken.ok_or_else(|| RecvError::Closed(self.0.label())))
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}

    fn is_ready(&self) -> bool {
        let is_over = self.0.next.load(Relaxed) == OVER;
        is_over || self.0.deadline().is_some_and(|due| due <= now())
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}
