//! Every choice by lot.

use leno_kernel::policy::ChoiceKind;

use super::lots::Lots;
use super::{Candidates, Strategy};

/// See the module.
pub(crate) struct Random {
    seed: u64,
    lots: Lots,
}

impl Random {
    /// The first run's seed; each run adds one.
    pub(crate) fn new(seed: u64) -> Random {
        Random { seed: seed.wrapping_sub(1), lots: Lots::new(0) }
    }
}

impl Strategy for Random {
    fn begin(&mut self) -> bool {
        self.seed = self.seed.wrapping_add(1);
        self.lots = Lots::new(self.seed);
        true
    }

    fn is_blind(&self) -> bool {
        true
    }

    fn pick(&mut self, among: &Candidates<'_>) -> usize {
        self.lots.below(among.who.len())
    }

    fn choose(&mut self, _: ChoiceKind, of: usize) -> usize {
        self.lots.below(of)
    }

    fn origin(&self) -> String {
        format!("random, seed {}", self.seed)
    }
}
