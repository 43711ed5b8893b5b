//! What a listener does when the machine has run out of something: whoever accepts there next waits first,
//! longer each time it fails, until a try succeeds.
//!
//! The connections stay in line meanwhile, so the listener stays readable, and trying again at once would
//! only fail again. One listener has one patience, whoever accepts and however: coroutines, threads,
//! futures, selects.
//!
//! # Protocol
//! `pause` and `until` are two words, written by whoever has tried last and read by whoever tries next,
//! without order between them. What can go wrong is that two who fail at once double the pause twice, or
//! that one waits for a pause that another has just ended: at most [`LONGEST`].

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::Mutex;

use leno_kernel::layer::user;
use leno_kernel::{Exiting, Time, now};

use super::exhausted::Exhausted;
use crate::time::{AlarmClock, sleep_until, sleep_until_async};
use crate::user::{Locked, lock};

const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Default)]
pub(crate) struct Patience {
    /// How long the last pause was, in nanoseconds; 0 if the last try succeeded.
    pause: AtomicU64,
    /// When it ends.
    until: AtomicU64,
    /// Of those who poll by hand.
    alarms: Mutex<Vec<AlarmClock>>,
}

impl Patience {
    /// When to try again, if not yet.
    pub(super) fn until(&self) -> Option<Time> {
        if self.pause.load(Relaxed) == 0 {
            return None;
        }
        let until = Time::from_nanos(self.until.load(Relaxed));
        let left = until.since(now());
        // By the clock of another platform it may be any time.
        (!left.is_zero() && left <= LONGEST).then_some(until)
    }

    /// Waits until it is time to try again, or for the deadline.
    ///
    /// # Errors
    /// When the calling coroutine's stack unwinds, and it cannot wait.
    #[track_caller]
    pub(super) fn wait(&self, deadline: Option<Time>) -> io::Result<()> {
        let Some(until) = self.until() else { return Ok(()) };
        let until = deadline.map_or(until, |deadline| deadline.min(until));
        sleep_until(until);
        if now() < until { Err(io::Error::other(leno_kernel::exit())) } else { Ok(()) }
    }

    pub(super) async fn wait_async(&self) {
        if let Some(until) = self.until() {
            sleep_until_async(until).await;
        }
    }

    /// The same, for those who poll by hand. Each waker has one alarm.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.until() else { return Poll::Ready(()) };
        let mut alarm = {
            let mut alarms = self.alarms();
            let own = alarms.iter().position(|alarm| alarm.is_for(context.waker()));
            own.map(|own| alarms.swap_remove(own)).unwrap_or_default()
        };
        // Without the lock: it asks the clock, and clones and drops wakers.
        if alarm.poll(until, context).is_ready() {
            return Poll::Ready(());
        }
        self.alarms().push(alarm);
        // A try that has succeeded meanwhile did not find it.
        if self.until().is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    #[track_caller]
    fn alarms(&self) -> Locked<'_, Vec<AlarmClock>> {
        lock(&self.alarms)
    }

    /// A try has come to this.
    pub(super) fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        match &result {
            Err(error) if Exhausted::of(error).is_some() => {
                let pause = Duration::from_nanos(self.pause.load(Relaxed)) * 2;
                let pause = pause.clamp(SHORTEST, LONGEST).as_nanos() as u64;
                self.until.store(now().as_nanos().saturating_add(pause), Relaxed);
                self.pause.store(pause, Relaxed);
            }
            Ok(_) if self.pause.load(Relaxed) > 0 => {
                self.pause.store(0, Relaxed);
                let alarms = core::mem::take(&mut *self.alarms());
                // They need not wait for the end of the pause; whatever one of them raises, and a
                // connection that was accepted is not lost for it.
                drop(alarms.into_iter().fold(None, |raised, alarm| {
                    user::first(raised, user::call(|| alarm.ring()).err())
                }));
            }
            _ => {}
        }
        result
    }
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pause = Duration::from_nanos(self.pause.load(Relaxed));
        f.debug_struct("Patience").field("pause", &pause).finish_non_exhaustive()
    }
}

/// Whether to tell of a result. That something has run out is told once, until a try succeeds again.
pub(super) fn is_news<T>(has_told: &mut bool, result: &io::Result<T>) -> bool {
    match result {
        Ok(_) => *has_told = false,
        Err(error) if Exhausted::of(error).is_some() => {
            return !core::mem::replace(has_told, true);
        }
        Err(_) => {}
    }
    true
}

/// Whether the calling coroutine's stack unwinds, so that nothing will ever be accepted.
pub(super) fn is_exiting<T>(result: &io::Result<T>) -> bool {
    let inner = result.as_ref().err().and_then(io::Error::get_ref);
    inner.is_some_and(|error| error.is::<Exiting>())
}
