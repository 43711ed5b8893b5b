//! How much work a type may take.
//!
//! Few states and few written events do not mean little work: each of 20,000 sets of positions may have
//! 2,000 members, each with 2,000 that follow, and sets that are joined again and again in nested
//! repetitions take memory before there is a state. So whatever is computed from a text or from other types
//! counts its steps, and what is kept, against one limit.
//!
//! A step is about one insertion into a set: some tens of nanoseconds, and a word or a few of memory.

use std::cell::Cell;

use crate::error::TooLarge;

/// What is left of the steps that one computation may take.
#[derive(Debug)]
pub(crate) struct Work {
    left: Cell<usize>,
}

impl Work {
    /// All of them.
    pub(crate) fn new() -> Self {
        // See `leno_context::is_planted`, which this crate does not know.
        #[cfg(leno_planted)]
        if std::env::var_os("LENO_PLANTED").is_some_and(|bug| bug == "control-work") {
            return Self::unlimited();
        }
        Self { left: Cell::new(TooLarge::MOST_STEPS) }
    }

    /// For what cannot take more than was allowed before.
    pub(crate) fn unlimited() -> Self {
        Self { left: Cell::new(usize::MAX) }
    }

    /// How many steps are left.
    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.left.get()
    }

    /// Takes so many steps, before they are taken.
    ///
    /// # Errors
    ///
    /// If fewer are left; none is then.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), TooLarge> {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        left.map(drop).ok_or(TooLarge::of_steps())
    }

    /// Takes as many steps as the product of these two.
    pub(crate) fn spend_product(&self, one: usize, other: usize) -> Result<(), TooLarge> {
        self.spend(one.saturating_mul(other))
    }
}
