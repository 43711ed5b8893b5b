//! The way between two hosts: how long it takes, how much it holds, and what may go wrong on it.
//!
//! What may go wrong is chosen by the policy of whoever sends or receives, each kind so often at most.
//! It is asked while the network is not locked, and before anything is changed; see `choices.rs`.
//! Without a policy nothing goes wrong. The numbers count for a link and for as long as it exists, so
//! that there are finitely many schedules, and a program that tries again gets through in the end.

use core::ops::RangeInclusive;
use core::time::Duration;

use leno_kernel::Object;

use super::choices::{Choices, Decided};

/// Among how many latencies there can be a choice: a policy is shown each of them.
const STEPS: u32 = 1 << 16;

/// What the way between two hosts is like. By default it takes no time, holds 64 KiB in each direction of
/// a connection, and nothing goes wrong on it.
///
/// # Examples
/// ```
/// use leno_io::memory::{Link, Network};
/// use std::time::Duration;
///
/// let slow = Duration::from_millis(20)..=Duration::from_millis(80);
/// let network = Network::new();
/// network.set_link(Link::new().latency(slow).partial(3).broken(1));
/// ```
#[derive(Clone, Debug)]
pub struct Link {
    pub(super) latency: RangeInclusive<Duration>,
    pub(super) steps: u32,
    pub(super) capacity: usize,
    pub(super) connect_timeout: Duration,
    pub(super) refuses_when_full: bool,
    pub(super) left: Left,
}

/// How often something may still go wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    pub(super) partial: u32,
    pub(super) broken: u32,
    pub(super) lost: u32,
    pub(super) doubled: u32,
    pub(super) reordered: u32,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            latency: Duration::ZERO..=Duration::ZERO,
            steps: 2,
            capacity: 64 << 10,
            connect_timeout: Duration::from_secs(120),
            refuses_when_full: false,
            left: Left::default(),
        }
    }
}

impl Link {
    /// The default.
    pub fn new() -> Link {
        Link::default()
    }

    /// How long anything takes from one host to the other. In a range the policy chooses, each time; the
    /// first choice is the shortest. What a connection carries keeps its order, datagrams need not.
    ///
    /// # Panics
    /// If the range is empty.
    #[track_caller]
    pub fn latency(mut self, latency: impl Into<Latency>) -> Link {
        let Latency(range) = latency.into();
        assert!(range.start() <= range.end(), "a latency from {range:?} is none");
        self.latency = range;
        self
    }

    /// Among how many latencies of the range there is a choice, spread evenly, both ends included; by
    /// default 2.
    ///
    /// # Panics
    /// If it is less than 2, or more than 65 536.
    #[track_caller]
    pub fn latency_steps(mut self, steps: u32) -> Link {
        assert!(steps >= 2, "among {steps} latencies there is no choice");
        assert!(steps <= STEPS, "there is a choice among {STEPS} latencies at most, not {steps}");
        self.steps = steps;
        self
    }

    /// How many bytes each direction of a connection holds, on their way or not read; who writes more
    /// waits. Datagrams that find more than that waiting are lost; each counts as its bytes and 128 more. By
    /// default 65,536.
    ///
    /// # Panics
    /// If it is nothing.
    #[track_caller]
    pub fn capacity(mut self, bytes: usize) -> Link {
        assert!(bytes > 0, "a pipe that holds nothing passes nothing on");
        self.capacity = bytes;
        self
    }

    /// So many reads and writes may do less than they could: half, or one byte. Finds code that takes
    /// what one read gives for a whole message, or believes that a write writes everything.
    pub fn partial(mut self, times: u32) -> Link {
        self.left.partial = times;
        self
    }

    /// So many connections may be lost in the middle: what is written then, and what is on its way in
    /// both directions, is gone, though the write succeeds; what comes after is
    /// [`ConnectionReset`](std::io::ErrorKind::ConnectionReset) on both sides.
    pub fn broken(mut self, times: u32) -> Link {
        self.left.broken = times;
        self
    }

    /// So many datagrams may be lost.
    pub fn lost(mut self, times: u32) -> Link {
        self.left.lost = times;
        self
    }

    /// So many datagrams may arrive twice.
    pub fn doubled(mut self, times: u32) -> Link {
        self.left.doubled = times;
        self
    }

    /// So often a datagram may be received before one that has arrived earlier.
    pub fn reordered(mut self, times: u32) -> Link {
        self.left.reordered = times;
        self
    }

    /// After which time a connection that nobody answers is given up: across a partition, or while
    /// the listener's backlog is full. By default two minutes.
    pub fn connect_timeout(mut self, limit: Duration) -> Link {
        self.connect_timeout = limit;
        self
    }

    /// Connections are refused while the listener's backlog is full; by default they wait.
    pub fn refuse_when_full(mut self) -> Link {
        self.refuses_when_full = true;
        self
    }
}

/// A latency, or a range of them; see [`Link::latency`].
#[derive(Clone, Debug)]
pub struct Latency(RangeInclusive<Duration>);

impl From<Duration> for Latency {
    fn from(fixed: Duration) -> Latency {
        Latency(fixed..=fixed)
    }
}

impl From<RangeInclusive<Duration>> for Latency {
    fn from(range: RangeInclusive<Duration>) -> Latency {
        Latency(range)
    }
}

/// A link, as the network knows it.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) link: Link,
    pub(super) is_parted: bool,
    /// What operations on it touch: they share what may go wrong.
    pub(super) object: Object,
}

impl Route {
    pub(super) fn new(link: Link, object: Object) -> Route {
        Route { link, is_parted: false, object }
    }

    /// How long something takes now.
    pub(super) fn latency(&self, choices: &mut Choices, about: Object) -> Decided<Duration> {
        let (first, last) = (*self.link.latency.start(), *self.link.latency.end());
        if first == last {
            return Ok(first);
        }
        let steps = self.link.steps;
        let step = |n: u32| first + (last - first) / (steps - 1) * n;
        let numbers = (0..steps).map(|n| if n + 1 == steps { last } else { step(n) });
        let nanos: Vec<_> =
            numbers.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).collect();
        Ok(Duration::from_nanos(nanos[choices.pick(about, &nanos)?]))
    }

    /// How much of what it could an operation does. If it is less, that has gone wrong once: see [`Left::partial`].
    pub(super) fn amount(
        &self,
        choices: &mut Choices,
        about: Object,
        most: usize,
    ) -> Decided<usize> {
        if most < 2 || self.link.left.partial == 0 {
            return Ok(most);
        }
        let mut amounts = vec![most as u64, most.div_ceil(2) as u64, 1];
        amounts.dedup();
        Ok(amounts[choices.pick(about, &amounts)?] as usize)
    }
}

/// Whether something goes wrong now that may do so as often as `left` says. It is counted when all is decided.
pub(super) fn goes_wrong(choices: &mut Choices, about: Object, left: u32) -> Decided<bool> {
    Ok(left > 0 && choices.pick(about, &[0, 1])? > 0)
}
