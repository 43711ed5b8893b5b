//! Few interruptions, well placed: probabilistic concurrency testing.
//!
//! Everyone gets a priority by lot, and whoever has the highest runs. At `depth - 1` picks of the run,
//! drawn by lot beforehand, whoever would run is put behind all others. A mistake that needs `depth`
//! events in the right order is found in each run with a probability of at least one in
//! `n * k^(depth - 1)`, with `n` threads and `k` picks (Burckhardt and others 2010).

use leno_kernel::policy::ChoiceKind;

use super::lots::Lots;
use super::{Candidates, Strategy};

/// See the module.
pub(crate) struct Pct {
    seed: u64,
    depth: usize,
    lots: Lots,
    /// By number; more is more urgent.
    priorities: Vec<u64>,
    changes: Vec<u64>,
    /// How many picks there were in this run, and in the longest so far.
    picks: u64,
    longest: u64,
    /// The lowest priority that was given.
    low: u64,
}

/// Priorities by lot are above this, lowered ones below.
const MIDDLE: u64 = 1 << 32;
/// How many are put behind all others in a run, at most.
const MOST: usize = 1 << 16;

impl Pct {
    pub(crate) fn new(seed: u64, depth: usize) -> Pct {
        Pct {
            seed: seed.wrapping_sub(1),
            depth: depth.max(1),
            lots: Lots::new(0),
            priorities: Vec::new(),
            changes: Vec::new(),
            picks: 0,
            longest: 8,
            low: MIDDLE,
        }
    }

    fn priority(&mut self, who: usize) -> u64 {
        while self.priorities.len() <= who {
            self.priorities.push(MIDDLE + (self.lots.draw() >> 33));
        }
        self.priorities[who]
    }

    fn highest(&mut self, who: &[usize]) -> usize {
        let mut best = 0;
        for place in 1..who.len() {
            if self.priority(who[place]) > self.priority(who[best]) {
                best = place;
            }
        }
        best
    }
}

impl Strategy for Pct {
    fn begin(&mut self) -> bool {
        self.seed = self.seed.wrapping_add(1);
        self.lots = Lots::new(self.seed);
        self.longest = self.longest.max(self.picks);
        self.priorities.clear();
        self.picks = 0;
        self.low = MIDDLE;
        self.changes.clear();
        // More than a run has picks change nothing.
        for _ in 1..self.depth.min(MOST) {
            self.changes.push(self.lots.below(self.longest as usize) as u64 + 1);
        }
        true
    }

    fn pick(&mut self, among: &Candidates<'_>) -> usize {
        self.picks += 1;
        let best = self.highest(among.who);
        if !self.changes.contains(&self.picks) {
            return best;
        }
        self.low -= 1;
        self.priorities[among.who[best]] = self.low;
        self.highest(among.who)
    }

    fn choose(&mut self, _: ChoiceKind, of: usize) -> usize {
        self.lots.below(of)
    }

    fn origin(&self) -> String {
        format!("PCT of depth {}, seed {}", self.depth, self.seed)
    }
}
