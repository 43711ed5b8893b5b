//! A limit is over.

use core::fmt;
use core::time::Duration;
use std::io;

/// The time is over that [`timeout`](super::timeout()) or [`timeout_async`](super::timeout_async) gave.
///
/// As an [`io::Error`] it is of the kind [`TimedOut`](io::ErrorKind::TimedOut).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Elapsed {
    pub(super) limit: Duration,
}

impl Elapsed {
    /// The limit that was given.
    pub fn limit(self) -> Duration {
        self.limit
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the limit of {:?} is over, so what was waited for was given up", self.limit)
    }
}

/// As it is told: this is what a `main` that returns it prints.
impl fmt::Debug for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, elapsed)
    }
}
