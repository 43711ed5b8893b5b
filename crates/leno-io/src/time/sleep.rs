//! Sleeping.

use core::future::poll_fn;
use core::task::{Context, Poll};
use core::time::Duration;
use std::task::Waker;

use leno_kernel::layer::{Alarm, deadline_in};
use leno_kernel::{Time, now, sleep};

/// Waits until `time`; not at all if it has passed.
///
/// # Blocking
/// Parks the calling coroutine, or blocks the calling thread; a future uses [`sleep_until_async`].
///
/// # Cancellation
/// When the calling coroutine is to exit, its stack unwinds.
///
/// # Panics
/// Inside a future that a core polls.
///
/// # Examples
/// ```
/// use leno_io::time::{Time, now, sleep_until};
/// use leno_kernel::LocalSystem;
///
/// let system = LocalSystem::builder().virtual_time().build();
/// let noon = Time::from_nanos(43_200_000_000_000);
/// let woken = system.spawn(move || { sleep_until(noon); now() });
/// system.run()?;
/// assert_eq!(woken.join()?, noon);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn sleep_until(time: Time) {
    sleep(time.since(now()));
}

/// As [`sleep`], for a future on any executor.
///
/// # Cancellation
/// A future that is dropped waits no more.
///
/// # Examples
/// ```
/// use leno_io::time::sleep_async;
/// use std::time::Duration;
///
/// leno_kernel::block_on(sleep_async(Duration::from_millis(1)));
/// ```
pub async fn sleep_async(time: Duration) {
    sleep_until_async(deadline_in(time)).await;
}

/// As [`sleep_until`], for a future on any executor.
pub async fn sleep_until_async(time: Time) {
    let mut clock = AlarmClock::default();
    poll_fn(|context| clock.poll(time, context)).await;
}

/// Wakes whoever polled last.
#[derive(Default)]
pub(crate) struct AlarmClock {
    set: Option<(Time, Alarm, Waker)>,
}

impl AlarmClock {
    /// Whether it is this one that it wakes.
    pub(crate) fn is_for(&self, waker: &Waker) -> bool {
        self.set.as_ref().is_some_and(|(.., own)| own.will_wake(waker))
    }

    /// Wakes it now.
    pub(crate) fn ring(self) {
        if let Some((.., waker)) = self.set {
            waker.wake();
        }
    }

    /// Ready when the time has come.
    pub(crate) fn poll(&mut self, time: Time, context: &mut Context<'_>) -> Poll<()> {
        if now() >= time {
            self.set = None;
            return Poll::Ready(());
        }
        let is_set = self.set.as_ref().is_some_and(|(when, ..)| *when == time);
        if !is_set || !self.is_for(context.waker()) {
            // The old one first: two alarms for one future would be one too many.
            self.set = None;
            self.set = Some((time, Alarm::set(time, context), context.waker().clone()));
        }
        Poll::Pending
    }
}
