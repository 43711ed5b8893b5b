//! What a flexible coroutine is doing, and what a thread is to the system.
//!
//! The states and their transitions (Dovland 2006, fig. 4.2), the same in the [`model`](crate::model)
//! and in the system:
//! ```text
//!   from         to
//!   Idle         Waiting (called, resumed, kicked, attached)
//!   Waiting      Active (scheduled)      Idle (scheduled, but attached-only and without a caller)
//!   Active       Idle (detach, resume, passivate)   Waiting (yield)   Calling (call)
//!                Terminated (its body ended)        Parked (it waits for something outside)
//!   Calling      Waiting (its callee has detached or ended, or it has given up)
//!                Active (it gives up in the turn in which it has called: it has no stack)
//!   Parked       Waiting (what it waits for has happened)
//!   Terminated   nothing
//! ```
//! A coroutine that unwinds because its system ends becomes terminated from wherever it is.

use core::fmt;

/// What a flexible coroutine is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing, until somebody calls, resumes or kicks it.
    Idle,
    /// It stands in the system's queue and will be active.
    Waiting,
    /// It runs. At most one of a system does.
    Active,
    /// It has called another one, and waits until that one is no longer attached to it.
    Calling,
    /// It waits for something outside its system: a channel, a timer, a coroutine of another system.
    /// To those who want something of it, it is busy. Not in Dovland 2006, where nothing but the
    /// operations of the system suspends a coroutine.
    Parked,
    /// Its body has ended.
    Terminated,
}

impl State {
    /// Whether the table allows it.
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::State;
    ///
    /// assert!(State::Idle.may_become(State::Waiting));
    /// assert!(!State::Idle.may_become(State::Active));
    /// ```
    pub fn may_become(self, next: State) -> bool {
        use State::{Active, Calling, Idle, Parked, Terminated, Waiting};
        matches!(
            (self, next),
            (Idle | Calling | Parked, Waiting)
                | (Waiting, Active | Idle)
                | (Calling, Active)
                | (Active, Idle | Waiting | Calling | Parked | Terminated)
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Idle => "IDLE",
            State::Waiting => "WAITING",
            State::Active => "ACTIVE",
            State::Calling => "CALLING",
            State::Parked => "PARKED",
            State::Terminated => "TERMINATED",
        })
    }
}

/// What a request in a coroutine's local set asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// To be attached, and answered.
    Call,
    /// To run, for nobody in particular.
    Kick,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Label::Call => "call",
            Label::Kick => "kick",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::State::{self, Active, Calling, Idle, Parked, Terminated, Waiting};

    #[test]
    fn f13_the_transitions_are_those_of_the_table() {
        let all = [Idle, Waiting, Active, Calling, Parked, Terminated];
        let allowed = |from: State| all.map(|to| u8::from(from.may_become(to)));
        assert_eq!(allowed(Idle), [0, 1, 0, 0, 0, 0]);
        assert_eq!(allowed(Waiting), [1, 0, 1, 0, 0, 0]);
        assert_eq!(allowed(Active), [1, 1, 0, 1, 1, 1]);
        assert_eq!(allowed(Calling), [0, 1, 1, 0, 0, 0]);
        assert_eq!(allowed(Parked), [0, 1, 0, 0, 0, 0]);
        assert_eq!(allowed(Terminated), [0; 6]);
    }
}
