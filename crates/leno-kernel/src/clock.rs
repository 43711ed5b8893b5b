//! Time as a system sees it, and the platform a core runs on.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

use crate::bell::Bell;
use crate::io::{self, Reactor};
use crate::world;

/// A point in time of a system: nanoseconds since its clock began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// When the clock began.
    pub const START: Time = Time(0);
    /// Later than any other.
    pub const NEVER: Time = Time(u64::MAX);

    /// So many nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; nothing if it is not.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, wait: Duration) -> Time {
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(nanos))
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s", self.0 / 1_000_000_000, self.0 / 1_000 % 1_000_000)
    }
}

/// What a core needs of the machine below it: a clock, a way to do nothing, and someone who watches
/// file descriptors.
pub trait Platform {
    /// What time it is. It never goes back.
    fn now(&self) -> Time;

    /// Does nothing until the bell is rung, or until `deadline`. It may come back early. Descriptors
    /// are heard of at once only while it waits by [`Bell::wait`] or [`Bell::wait_for`].
    fn idle(&self, bell: &Bell, deadline: Option<Time>);

    /// Whether waiting takes no real time. Then nothing outside the system is waited for.
    fn is_virtual(&self) -> bool {
        false
    }

    /// Who watches the descriptors that this core's coroutines use; asked at the first one, in each
    /// run. By default a new reactor, or, if time is virtual, nobody.
    ///
    /// # Errors
    /// When it refuses: then this core's coroutines cannot use descriptors, and get this error.
    fn reactor(&self) -> std::io::Result<Reactor> {
        if self.is_virtual() { Err(io::refuse_virtual()) } else { Reactor::new() }
    }
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug)]
pub struct RealTime {
    start: std::time::Instant,
    /// In a world, when it began by that one's clock.
    in_world: Option<Time>,
}

impl RealTime {
    /// A clock that begins now.
    pub fn new() -> RealTime {
        RealTime { start: std::time::Instant::now(), in_world: world::now() }
    }
}

impl Default for RealTime {
    fn default() -> Self {
        RealTime::new()
    }
}

impl Platform for RealTime {
    fn now(&self) -> Time {
        if let Some(start) = self.in_world
            && let Some(now) = world::now()
        {
            return Time::START + now.since(start);
        }
        Time::START + self.start.elapsed()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        match deadline {
            None => bell.wait(),
            Some(deadline) => drop(bell.wait_for(deadline.since(self.now()))),
        }
    }
}

/// A clock that stands still while anyone can run, and then jumps to the next deadline.
#[derive(Debug, Default)]
pub struct VirtualTime {
    now: core::cell::Cell<Time>,
}

impl VirtualTime {
    /// A clock that begins at [`Time::START`].
    pub fn new() -> VirtualTime {
        VirtualTime::default()
    }
}

impl Platform for VirtualTime {
    fn now(&self) -> Time {
        self.now.get()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        match deadline {
            Some(deadline) => self.now.set(self.now.get().max(deadline)),
            // Only another thread can make anything happen.
            None => bell.wait(),
        }
    }

    fn is_virtual(&self) -> bool {
        true
    }
}
