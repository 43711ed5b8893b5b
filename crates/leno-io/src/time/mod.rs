//! Time: sleeping, limits, beats.
//!
//! Time is that of the system that runs the calling code, or of a plain thread the process's; in
//! virtual time all of this works, and takes no real time.
//!
//! - [`sleep`], [`sleep_until`] and their twins for futures.
//! - [`timeout`]: a limit for whatever a closure waits for; [`timeout_async`] for a future.
//! - [`interval`]: a beat, and what happens when it is missed.
//!
//! Deliberately not here: timers as alternatives of a select, which are `leno_channel`'s `after` and
//! `every`; the wheel, which is the kernel's.

mod elapsed;
mod interval;
mod sleep;
mod timeout;

pub use elapsed::Elapsed;
pub use interval::{Interval, Missed, interval, interval_at};
pub use leno_kernel::layer::deadline_in;
pub use leno_kernel::{Time, now, sleep};
pub(crate) use sleep::AlarmClock;
pub use sleep::{sleep_async, sleep_until, sleep_until_async};
pub use timeout::{timeout, timeout_async};
pub(crate) use timeout::{until, within};
