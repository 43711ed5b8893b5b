//! Timers as something to receive from.
//!
//! Time is that of the system in which a timer is used, which should be the one in which it was
//! made; virtual time works.

use core::cell::Cell;
use core::time::Duration;

use leno_kernel::{Object, Time, Waiter, deadline_in, now};

use crate::Label;
use crate::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::select::{Arm, Draw, Receive, Select, SelectError, Source, sealed};

/// Gives the time when its time has come; of [`after`], [`at`], [`every`] and [`never()`].
#[derive(Debug)]
pub struct Timer {
    next: Cell<Next>,
    period: Option<Duration>,
    object: Object,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    At(Time),
    Never,
    /// It has given its time.
    Over,
}

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
    Timer::new(Next::At(time), None)
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
    Timer::new(Next::At(deadline_in(period)), Some(period))
}

/// Gives nothing, ever: for an alternative of a select that is not wanted now.
///
/// # Examples
/// ```
/// assert!(leno_channel::never().try_recv().is_err());
/// ```
pub fn never() -> Timer {
    Timer::new(Next::Never, None)
}

impl Timer {
    fn new(next: Next, period: Option<Duration>) -> Timer {
        Timer { next: Cell::new(next), period, object: Object::local() }
    }

    fn label(&self) -> Label {
        Label::new(self.object, None)
    }

    /// The time that has come, or `None` inside if none ever will.
    fn take(&self) -> Option<Option<Time>> {
        let due = match self.next.get() {
            Next::At(due) => due,
            Next::Never => return None,
            Next::Over => return Some(None),
        };
        let now = now();
        if now < due {
            return None;
        }
        self.next.set(match self.period {
            None => Next::Over,
            Some(period) => {
                let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
                let missed = now.since(due).as_nanos() as u64 / period;
                let ahead = period.saturating_mul(missed.saturating_add(1));
                Next::At(due + Duration::from_nanos(ahead))
            }
        });
        Some(Some(due))
    }

    fn deadline(&self) -> Option<Time> {
        match self.next.get() {
            Next::At(due) => Some(due),
            Next::Never | Next::Over => None,
        }
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

    fn arm<'a, R: 'a>(
        &'a self,
        handler: impl FnOnce(Result<Time, RecvError>) -> R + 'a,
    ) -> Arm<'a, R> {
        Arm(Box::new(Draw::new(Ticks(self), move |time: Option<Time>| {
            handler(time.ok_or_else(|| RecvError::Closed(self.label())))
        })))
    }
}

struct Ticks<'a>(&'a Timer);

impl Source for Ticks<'_> {
    type Item = Option<Time>;

    fn take(&mut self) -> Option<Option<Time>> {
        self.0.take()
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}

    fn is_ready(&self) -> bool {
        match self.0.next.get() {
            Next::At(due) => due <= now(),
            Next::Never => false,
            Next::Over => true,
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

/// A time, as an alternative of its own.
pub(crate) struct Until(pub(crate) Time);

impl Source for Until {
    type Item = Time;

    fn take(&mut self) -> Option<Time> {
        self.is_ready().then_some(self.0)
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}

    fn is_ready(&self) -> bool {
        self.0 <= now()
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.0)
    }
}
