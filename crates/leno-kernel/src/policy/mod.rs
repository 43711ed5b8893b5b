//! Who runs next, and every other choice that the rules leave open.
//!
//! A core asks its policy; a policy is user code. The default, [`Fifo`], is known to the core and
//! costs nothing.

mod deadline;
mod fifo;
mod heap;
mod lifo;
mod line;
mod log;
mod next_slot;
mod priority;
mod random;
mod record;
mod replay;
#[cfg(test)]
pub(crate) mod testing;
mod tombstones;

use core::fmt;

use crate::{Co, Name, Object, Time};

pub use deadline::EarliestDeadline;
pub use fifo::Fifo;
pub use lifo::Lifo;
pub use log::{ChoiceLog, Decided, Decision, Decisions, NotALog};
pub use next_slot::NextSlot;
pub use priority::Priority;
pub use random::SeededRandom;
pub use record::{Recorded, Recording};
pub use replay::Replay;

/// Decides for one core. It is made on the core's thread and used by it alone.
///
/// It must give back from [`pick`](Policy::pick) whatever was put in by [`ready`](Policy::ready),
/// each once, unless it was told to [`forget`](Policy::forget) it.
///
/// It is told who became ready before it is asked next, not in the middle of the operation that did it. It
/// may use its own system, and is then told afterwards. One that panics, gives back the wrong coroutine or
/// nobody, or suspends the code that asks it, is replaced by first come, first served. The panic leaves
/// [`LocalSystem::run`](crate::LocalSystem::run); in a [`System`](crate::System), it is a failure in
/// the report.
pub trait Policy {
    /// A coroutine can run.
    fn ready(&mut self, ready: &Ready<'_>);

    /// Who runs next; `None` if nobody can.
    fn pick(&mut self) -> Option<Co>;

    /// Who will probably run after `ahead` others, so that it can be loaded early.
    fn peek(&self, _ahead: usize) -> Option<Co> {
        None
    }

    /// Answers any other choice with an index into its candidates.
    fn choose(&mut self, _choice: &Choice<'_>) -> usize {
        0
    }

    /// A coroutine that was ready will not have its turn: do not give it back.
    fn forget(&mut self, co: Co);

    /// What reports call it.
    fn name(&self) -> &str {
        "unnamed policy"
    }
}

/// A coroutine that can run, and what a policy may want to know of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ready<'a> {
    /// Which one.
    pub co: Co,
    /// Its name.
    pub name: &'a Name,
    /// Why it can run.
    pub why: Why,
    /// Where whoever made it ready would like to have it.
    pub hint: Hint,
    /// As it was spawned with; more is more urgent, 0 if nothing was said.
    pub priority: i32,
    /// As it was spawned with.
    pub deadline: Option<Time>,
    /// What time it is.
    pub now: Time,
}

/// Why a coroutine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// It was spawned.
    Spawned,
    /// It has given its turn to others.
    Yielded,
    /// Someone has woken it.
    Unparked,
    /// Its time has come.
    Time,
    /// It is to exit.
    Exit,
}

/// Where whoever makes a coroutine ready would like to have it. A policy need not care.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hint {
    /// After all others.
    #[default]
    Back,
    /// Before all others.
    Front,
    /// Right after whoever runs now.
    Next,
}

/// A choice that the rules leave open, other than who runs next.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Choice<'a> {
    /// What is chosen.
    pub kind: ChoiceKind,
    /// Whom it is about.
    pub object: Option<Object>,
    /// Among whom or what; at least two.
    pub candidates: &'a [Candidate],
}

impl<'a> Choice<'a> {
    /// A choice.
    pub fn new(kind: ChoiceKind, object: Option<Object>, candidates: &'a [Candidate]) -> Self {
        Choice { kind, object, candidates }
    }
}

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChoiceKind {
    /// Which waiter a value goes to, or is taken from.
    Waiter,
    /// Which ready alternative of a select is taken.
    Alternative,
    /// Which of several timers of the same time fires first.
    Timer,
    /// Which core is robbed.
    Victim,
    /// Who goes on after a rendezvous or a spawn: the one that runs, which comes first, or the one that
    /// it has woken or spawned. The other is ready. In a program that is explored also whether a flexible call that
    /// nothing is in the way of is served at once, which comes first, or others may run meanwhile.
    After,
    /// What a network of memory does: how long something takes, how much passes, what is lost. The first
    /// is what it does if nobody decides.
    Network,
    /// Whether a [budget of time](crate::Budget::time) is used up, in a program that is explored: its time
    /// stands still while anyone runs. The first is that it is not.
    Slice,
}

/// One of those to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Candidate {
    /// A coroutine.
    Co(Co),
    /// A thread, or a future of another executor, by the order of its arrival.
    Other(u64),
    /// Something that can be waited on.
    Object(Object),
    /// A core, by number.
    Core(u32),
    /// A number: of bytes, of nanoseconds, of one of several ways.
    Number(u64),
}

impl fmt::Debug for dyn Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
