//! Making a failing schedule short.
//!
//! A schedule is short if it seldom takes anything but the first: the first is whoever would go on.
//! So what is tried is to take the first at some decisions, and to leave some out, in ever smaller
//! pieces, as long as the run fails in the same way.

use leno_kernel::layer::world::Trouble;
use leno_kernel::policy::Decision;

use crate::explorer::{Explorer, Program};

/// How unlike the default a schedule is, and how long.
fn weight(decisions: &[Decision]) -> (usize, usize) {
    (decisions.iter().filter(|decision| decision.took() > 0).count(), decisions.len())
}

struct Shrinker<'a> {
    explorer: &'a Explorer,
    program: &'a Program,
    trouble: &'a Trouble,
    best: Vec<Decision>,
    left: u32,
}

/// The shortest schedule that fails like `trouble`, and how many runs it took.
pub(crate) fn shrink(
    explorer: &Explorer,
    program: &Program,
    decisions: &[Decision],
    trouble: &Trouble,
    runs: u32,
) -> (Vec<Decision>, u32) {
    let best = decisions.to_vec();
    let mut shrinker = Shrinker { explorer, program, trouble, best, left: runs };
    loop {
        let before = weight(&shrinker.best);
        shrinker.pieces(|piece| piece.iter().map(|decision| first(*decision)).collect());
        shrinker.pieces(|_| Vec::new());
        if weight(&shrinker.best) >= before || shrinker.left == 0 {
            return (shrinker.best, runs - shrinker.left);
        }
    }
}

fn first(decision: Decision) -> Decision {
    Decision::new(decision.kind(), decision.of(), 0)
}

impl Shrinker<'_> {
    /// Tries another schedule; keeps it if it fails in the same way and is shorter.
    fn attempt(&mut self, decisions: Vec<Decision>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let (mut decided, run) = self.explorer.retry(decisions, self.program, false);
        // What comes of itself need not be said.
        while decided.last().is_some_and(|decision| decision.took() == 0) {
            decided.pop();
        }
        let fails = run.trouble.is_some_and(|trouble| trouble.is_like(self.trouble));
        let keeps = fails && weight(&decided) < weight(&self.best);
        if keeps {
            self.best = decided;
        }
        keeps
    }

    /// Changes pieces of the schedule, from all of it down to single decisions.
    fn pieces(&mut self, change: impl Fn(&[Decision]) -> Vec<Decision>) {
        let mut size = self.best.len();
        while size > 0 && self.left > 0 {
            let mut start = 0;
            while start < self.best.len() {
                let end = (start + size).min(self.best.len());
                let mut other = self.best[..start].to_vec();
                other.extend(change(&self.best[start..end]));
                other.extend(&self.best[end..]);
                if other == self.best || !self.attempt(other) {
                    start = end;
                }
            }
            size = size.min(self.best.len()) / 2;
        }
    }
}
