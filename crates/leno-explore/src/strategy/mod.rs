//! Who runs next, in each of many runs.

mod exhaustive;
mod lots;
mod pct;
mod random;
mod replay;

use leno_kernel::layer::world::Trouble;
use leno_kernel::policy::ChoiceKind;

pub(crate) use exhaustive::Exhaustive;
pub(crate) use pct::Pct;
pub(crate) use random::Random;
pub(crate) use replay::{Lenient, Replay};

/// Those that could run next, at least two: by the order in which this run has first seen them.
pub(crate) struct Candidates<'a> {
    pub(crate) who: &'a [usize],
    /// Threads, or coroutines of one core.
    pub(crate) are_threads: bool,
    /// The first would go on if nobody asked.
    pub(crate) goes_on: bool,
}

/// What an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// It may depend on anything.
    Anything,
    /// This object only.
    Object(usize),
}

/// Decides, run by run.
pub(crate) trait Strategy {
    /// Begins another run; whether there is one.
    fn begin(&mut self) -> bool;

    /// Whether it does not care who the candidates are, only how many.
    fn is_blind(&self) -> bool {
        false
    }

    /// Which of them runs next.
    fn pick(&mut self, among: &Candidates<'_>) -> usize;

    /// This thread goes on; no other can.
    fn alone(&mut self, _who: usize) {}

    /// Any other choice among `of`.
    fn choose(&mut self, kind: ChoiceKind, of: usize) -> usize;

    /// The running thread is about to do something with `target`.
    fn about_to(&mut self, _who: usize, _target: Target) {}

    /// Why the run must stop, if it must.
    fn trouble(&mut self) -> Option<Trouble> {
        None
    }

    /// A run has ended, and nothing has failed: what is wrong with its decisions, if anything.
    fn left_over(&mut self) -> Option<Trouble> {
        None
    }

    /// Whether every schedule was tried.
    fn is_complete(&self) -> bool {
        false
    }

    /// What a failure says about where this run came from.
    fn origin(&self) -> String;
}
