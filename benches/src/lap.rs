//! Times a ring whose members are scheduled by somebody else.
//!
//! Every member warms up, waits, hopping, until all are ready, then makes its rounds, then waits,
//! hopping, until all have made theirs. The clock runs from the last to be ready to the last end of
//! the rounds: members being made or freed are outside, and so is everything but hops. The order in
//! which the scheduler takes the members does not matter to the count.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rounds before the clock starts: first turns touch new stacks, and processors learn.
pub fn warm_up(rounds: u64) -> u64 {
    rounds / 4 + 1
}

pub struct Lap {
    members: u64,
    arrived: AtomicU64,
    finished: AtomicU64,
    start: OnceLock<Instant>,
    end: OnceLock<Instant>,
}

impl Lap {
    pub fn of(members: u64) -> Self {
        Self {
            members,
            arrived: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            start: OnceLock::new(),
            end: OnceLock::new(),
        }
    }

    /// The whole of a member's life, for members that hop by a plain call.
    pub fn run(&self, rounds: u64, mut step: impl FnMut(), mut hop: impl FnMut()) {
        for _ in 0..warm_up(rounds) {
            hop();
        }
        self.arrive();
        while !self.begun() {
            hop();
        }
        for _ in 0..rounds {
            step();
            hop();
        }
        self.finish();
        while !self.over() {
            hop();
        }
    }

    /// A member is ready for its rounds.
    pub fn arrive(&self) {
        if self.arrived.fetch_add(1, Ordering::Relaxed) + 1 == self.members {
            let _ = self.start.set(Instant::now()); // Only the last to arrive comes here.
        }
    }

    /// Whether all are ready.
    pub fn begun(&self) -> bool {
        self.start.get().is_some()
    }

    /// A member has made its rounds.
    pub fn finish(&self) {
        if self.finished.fetch_add(1, Ordering::Relaxed) + 1 == self.members {
            let _ = self.end.set(Instant::now()); // Only the last to finish comes here.
        }
    }

    /// Whether all have made their rounds.
    pub fn over(&self) -> bool {
        self.end.get().is_some()
    }

    /// From the last start to the last end; nothing when a member did not get there.
    pub fn took(&self) -> Option<Duration> {
        Some(self.end.get()?.duration_since(*self.start.get()?))
    }
}

#[cfg(test)]
mod tests {
    use super::{Lap, warm_up};

    #[test]
    fn the_clock_runs_while_all_members_are_in_their_rounds() {
        let lap = Lap::of(2);
        lap.arrive();
        assert!(!lap.begun());
        lap.arrive();
        assert!(lap.begun());
        lap.finish();
        assert!(!lap.over() && lap.took().is_none());
        lap.finish();
        assert!(lap.over() && lap.took().is_some());
    }

    #[test]
    fn a_member_steps_once_a_round() {
        let (mut steps, mut hops) = (0, 0);
        Lap::of(1).run(5, || steps += 1, || hops += 1);
        assert_eq!((steps, hops), (5, 5 + warm_up(5)));
    }
}
