//! What can go wrong, by name.

use core::any::Any;
use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use leno_kernel::layer::user::{Panic, lock};

use crate::{Party, State};

/// An operation was refused: no rule allows it. Nothing has changed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A coroutine cannot call one that, directly or not, has called it: all would wait for each other.
    Cycle {
        /// Who called.
        caller: Arc<str>,
        /// Whom.
        callee: Arc<str>,
    },
    /// A coroutine can call and resume only one that is idle, and call only one that is not attached.
    Busy {
        /// Who tried.
        by: Arc<str>,
        /// Whom.
        coroutine: Arc<str>,
        /// What that one, or the bottom of its chain of callees, is doing.
        state: State,
        /// To whom it is attached.
        caller: Option<Party>,
    },
    /// It has terminated.
    Terminated {
        /// Who wants something of it.
        by: Party,
        /// Which one.
        coroutine: Arc<str>,
        /// Whether by a panic.
        has_panicked: bool,
    },
    /// A coroutine does one thing at a time: it has ended its turn already, and wants more in it. A body without a
    /// stack can try, and one that another coroutine than its scheduler has attached.
    TurnEnded {
        /// Which one.
        coroutine: Arc<str>,
    },
    /// Whoever calls cannot wait: its thread runs the system, which has no other thread, and has called it between
    /// two turns of coroutines. A destructor of a parameter or an answer can try, or a waker, or a failure hook; and
    /// a member of a ring, if another member on its thread runs the system.
    Steers {
        /// Whom it has called.
        coroutine: Arc<str>,
    },
    /// Only coroutines of one system resume each other, or wait for each other.
    Foreign {
        /// Who tried.
        by: Arc<str>,
        /// Whom.
        coroutine: Arc<str>,
    },
    /// Its system has ended.
    Stopped {
        /// Which one.
        coroutine: Arc<str>,
    },
    /// The calling coroutine's own stack unwinds, so it cannot wait any more.
    Exiting,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Cycle { caller, callee } if caller == callee => {
                write!(f, "coroutine '{caller}' cannot call or resume itself")
            }
            Refusal::Cycle { caller, callee } => write!(
                f,
                "coroutine '{caller}' cannot call or resume '{callee}', by whom it was called: they \
                 would wait for each other"
            ),
            Refusal::Busy { by, coroutine, state, caller } => {
                write!(f, "coroutine '{by}' cannot have '{coroutine}', which is {state}")?;
                match caller {
                    Some(caller) => write!(f, " and attached to {caller}"),
                    None => Ok(()),
                }
            }
            Refusal::Terminated { by, coroutine, has_panicked: true } => {
                write!(f, "{by} cannot call or resume coroutine '{coroutine}': it has panicked")
            }
            Refusal::Terminated { by, coroutine, has_panicked: false } => {
                write!(f, "{by} cannot have coroutine '{coroutine}', which has terminated")
            }
            Refusal::TurnEnded { coroutine } => write!(
                f,
                "coroutine '{coroutine}' does one thing at a time, and its turn has ended"
            ),
            Refusal::Steers { coroutine } => write!(
                f,
                "a destructor, a waker, a hook or a member of a ring cannot call coroutine '{coroutine}' here: \
                 the calling thread runs its system, and would wait for itself"
            ),
            Refusal::Foreign { by, coroutine } => write!(
                f,
                "coroutine '{by}' cannot resume '{coroutine}', which is of another system: it can only \
                 call and kick it, as a thread does"
            ),
            Refusal::Stopped { coroutine } => {
                write!(f, "the system of coroutine '{coroutine}' has ended")
            }
            Refusal::Exiting => leno_kernel::Exiting.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

/// A call has brought no answer.
#[non_exhaustive]
pub enum CallError {
    /// It was refused.
    Refused(Refusal),
    /// The coroutine's body has ended without an answer.
    NoAnswer {
        /// Whose.
        coroutine: Arc<str>,
    },
    /// The coroutine's body has panicked.
    Failed(Failure),
    /// The caller's time is over.
    TimedOut {
        /// Who was called.
        coroutine: Arc<str>,
        /// What it was doing, if it was serving this call; else the call was still pending.
        served: Option<State>,
    },
}

impl From<Refusal> for CallError {
    fn from(refusal: Refusal) -> CallError {
        CallError::Refused(refusal)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(refusal) => refusal.fmt(f),
            CallError::NoAnswer { coroutine } => {
                write!(f, "coroutine '{coroutine}' has ended without an answer")
            }
            CallError::Failed(failure) => failure.fmt(f),
            CallError::TimedOut { coroutine, served: Some(state) } => {
                write!(f, "coroutine '{coroutine}' ({state}) has not answered in time")
            }
            CallError::TimedOut { coroutine, served: None } => {
                write!(f, "coroutine '{coroutine}' has not begun to serve the call in time")
            }
        }
    }
}

impl std::error::Error for CallError {}

/// A body has panicked.
pub struct Failure {
    coroutine: Arc<str>,
    /// Its `Drop` may panic, which goes no further.
    payload: Mutex<Panic>,
}

impl Failure {
    pub(crate) fn new(coroutine: Arc<str>, payload: Box<dyn Any + Send>) -> Failure {
        Failure { coroutine, payload: Mutex::new(Panic::new(payload)) }
    }

    /// Whose.
    pub fn coroutine(&self) -> &str {
        &self.coroutine
    }

    /// What it panicked with.
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.into_parts().1.into_payload()
    }

    /// Whose, and what it panicked with.
    pub(crate) fn into_parts(self) -> (Arc<str>, Panic) {
        let payload = self.payload.into_inner();
        (self.coroutine, payload.unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not written while it is locked: what it is written into is code of a user.
        let text = lock(&self.payload).message().map(str::to_owned);
        let text = text.as_deref().unwrap_or("not with text");
        write!(f, "coroutine '{}' has panicked: {text}", self.coroutine)
    }
}

impl std::error::Error for Failure {}

leno_context::debug_as_told!(Refusal, CallError, Failure);
