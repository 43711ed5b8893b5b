//! The rules of Dovland 2006, chapter 4, as a program: what flexible coroutines *mean*.
//!
//! A [`Configuration`] is what that work writes `C₁ | … | Cₙ | T₁ | … | Tₘ`: coroutines and threads, who
//! has called whom, and who waits for whom. Each rule is a function of its own that either matches and
//! changes the configuration, or does not match and changes nothing. They are in
//! `rules/coroutine.rs` (4.1 to 4.10), `rules/thread.rs` (4.11 to 4.15) and `rules/schedule.rs` (4.16 to
//! 4.18), each under its rule in the notation of that work. [`Configuration::steps`] lists what may
//! happen next, [`reach`] everything that can ever happen to a small program, and
//! [`Configuration::check`] what must hold always.
//!
//! The notation:
//! ```text
//!   n⟨P⟩      a coroutine n that is idle and will do P        n⟨⟨P⟩⟩   the active one
//!   n̂⟨P⟩      one that is waiting                             n[P]     idle, waiting or active
//!   n⟨P⟩ᵘ     its caller is u, a coroutine or a thread        n⟨P⟩⁻    it has no caller
//!   n⟨P⟩ₘ     its callee is m, so it is calling               n⟨P⟩₋    it has no callee
//!   m⟨Q⟩ₖ!    k is the bottom of m's chain of callees; m itself, if it has no callee
//!   t{P}      a thread that will do P                         t̃{P}     one that is calling
//!   φₘ ◁ x    x is put into the local set of m                φₘ ▷ x   x is taken out of it
//!   0         the end of a body
//!   K, F, S   the functions that chase a chain, activate attached-only ones, pass values
//! ```
//! What is decided differently, or at all, where the work is silent, contradicts itself or does not work:
//! - A coroutine's kick on one that is busy is queued, as a thread's is (4.8φ).
//! - A spinning coroutine whose body ends begins again at once, and stays active.
//! - A parameter is there only while its caller is attached.
//! - Requests that are left when a coroutine ends are dismissed: calls fail, kicks are forgotten.
//! - Whatever no rule matches is refused and changes nothing: a call that would make a cycle, a call or a
//!   resume of one that is busy, anything on one that has terminated.
//!
//! What that work does not have, or only wishes for, is in `rules/beyond.rs`: waiting for a busy coroutine,
//! prods, waiting for something outside, giving up a call.
//!
//! Deliberately not here: types of parameters, failures. No clock, no threads: a step is a
//! function.

mod check;
mod program;
mod reach;
mod rules;
mod steps;
#[cfg(test)]
mod tests;

pub use program::{Body, Operation, Program, Target};
pub use reach::{Reached, reach};
pub use steps::{Effect, Freedom, Step};

use crate::{Label, State};

/// What is passed as a parameter, and as an answer.
pub type Value = u64;

/// Who operates: a coroutine or a thread, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Process {
    /// A coroutine.
    Coroutine(usize),
    /// A thread.
    Thread(usize),
}

/// A request in a local set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// Who asks.
    pub from: Process,
    /// What for.
    pub label: Label,
    /// The parameter of a call.
    pub parameter: Option<Value>,
}

/// What a call has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// A value, at a detach.
    Value(Value),
    /// None: the body has ended.
    Nothing,
    /// None in time.
    TimedOut,
    /// It was refused, and for this reason.
    Refused(Refusal),
}

/// Why an operation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// The performer is at the bottom of the chain that it wants to hang itself below.
    Cycle,
    /// It, or the bottom of its chain, is not idle; or it has a caller already.
    Busy,
    /// It has terminated.
    Terminated,
}

/// Where a body goes on, and what it knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Which body it is.
    pub body: usize,
    /// Its next operation.
    pub next: usize,
    /// How often it may still begin again, if it is spinning.
    pub rounds: u32,
    /// The coroutine that it has created last.
    pub made: Option<usize>,
    /// What its last call has come to.
    pub answer: Option<Answer>,
    /// Whether it may give up its present call.
    pub has_limit: bool,
}

/// A coroutine of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coroutine {
    /// What it is doing.
    pub state: State,
    /// To whom it is attached.
    pub caller: Option<Process>,
    /// Whom it has called.
    pub callee: Option<usize>,
    /// Whom it has called though that one was busy; it is not attached yet.
    pub waits_for: Option<usize>,
    /// A prod that ends its next passivate.
    pub permit: bool,
    /// φ: its local set, in order of arrival.
    pub requests: Vec<Request>,
    /// π: what its caller has given to it.
    pub parameter: Option<Value>,
    /// Whether it is active only while it has a caller.
    pub attached_only: bool,
    /// Where its body goes on.
    pub place: Place,
}

/// A thread of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread {
    /// Whom it is calling, if it is.
    pub calls: Option<usize>,
    /// Where its body goes on.
    pub place: Place,
}

/// Coroutines and threads: `C₁ | … | Cₙ | T₁ | … | Tₘ`.
///
/// # Examples
/// ```
/// use leno_flexible::model::{Body, Freedom, Operation, Program, Target, reach};
///
/// // A thread calls m, which answers and is idle again.
/// let program = Program {
///     bodies: vec![Body::new([Operation::Detach])],
///     coroutines: vec![0],
///     threads: vec![vec![Operation::Call(Target::Named(0))]],
/// };
/// let reached = reach(&program, Freedom::ALL, 1_000).unwrap();
/// assert!(reached.ends.iter().all(|end| end.threads[0].calls.is_none()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Configuration {
    /// The coroutines.
    pub coroutines: Vec<Coroutine>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// Those that are waiting, in order of arrival. The rules ask for no order; policies do.
    pub queue: Vec<usize>,
}

impl Configuration {
    /// The active coroutine, if there is one.
    pub fn active(&self) -> Option<usize> {
        self.coroutines.iter().position(|coroutine| coroutine.state == State::Active)
    }
}
