//! Which alternative is tried first.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Where a select with [`Select::round_robin`](super::Select::round_robin) goes on next time: after
/// the alternative that was taken last.
#[derive(Debug, Default)]
pub struct Turn(AtomicUsize);

impl Turn {
    /// Begins with the first.
    pub fn new() -> Turn {
        Turn::default()
    }
}

/// See the module.
#[derive(Clone, Copy)]
pub(crate) enum Order<'a> {
    /// The policy's choice; without one, another alternative first each time.
    Fair,
    /// As written.
    Priority,
    /// After the one that was taken last.
    RoundRobin(&'a Turn),
}

impl Order<'_> {
    pub(crate) fn taken(&self, alternative: usize) {
        if let Order::RoundRobin(turn) = self {
            turn.0.store(alternative + 1, Relaxed);
        }
    }

    /// With which one to begin, if nobody chooses; `turn` counts fair selects.
    pub(crate) fn first(&self, turn: impl FnOnce() -> usize) -> usize {
        match self {
            Order::Fair => turn(),
            Order::Priority => 0,
            Order::RoundRobin(turn) => turn.0.load(Relaxed),
        }
    }
}
