//! What can go wrong, by family.

use std::error::Error;
use std::fmt;

use crate::id::SessionId;
use crate::row::State;

/// Why a store did not do what it was asked for.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// Others held the store for too long. Nothing was changed; try again.
    Busy(String),
    /// The store cannot be reached now. What was asked for may have been done or not; every operation can be
    /// asked for again.
    Unavailable(String),
    /// The store is of a later version of this crate.
    Version {
        /// What the store has.
        found: i64,
        /// What this build knows.
        known: i64,
    },
    /// What the store holds cannot be read: it was damaged, or is something else.
    Damaged(String),
    /// The store cannot hold this value: a text with a NUL byte, say, or one that is too long. Nothing was changed;
    /// asking again with the same value is in vain, and other values are not affected.
    Refused(String),
    /// The store itself is at fault: it panicked, or its answer does not fit the question. What was asked for may
    /// have been done or not.
    Faulty(String),
    /// The address of a store is not one that this build knows.
    Address(String),
}

impl StoreError {
    /// Whether the same may work a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Busy(_) | StoreError::Unavailable(_))
    }

    /// Whether it may be due to one element of a batch, so that the others may work by themselves.
    pub(crate) fn may_be_of_one(&self) -> bool {
        matches!(self, StoreError::Refused(_) | StoreError::Damaged(_) | StoreError::Faulty(_))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Busy(cause) => write!(f, "the store is busy: {cause}"),
            StoreError::Unavailable(cause) => write!(f, "the store cannot be reached: {cause}"),
            StoreError::Version { found, known } => {
                write!(f, "the store is of version {found}; this build knows {known}")
            }
            StoreError::Damaged(cause) => write!(f, "the store cannot be read: {cause}"),
            StoreError::Refused(cause) => write!(f, "the store cannot hold this: {cause}"),
            StoreError::Faulty(cause) => write!(f, "the store is at fault: {cause}"),
            StoreError::Address(cause) => write!(f, "not the address of a store: {cause}"),
        }
    }
}

impl Error for StoreError {}

/// Why something was not done with a session.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// The store failed.
    Store(StoreError),
    /// This text is no id.
    NotAnId(String),
    /// There is no session of this id.
    NoSession(SessionId),
    /// No routine of this name was registered.
    NoKind {
        /// The name.
        kind: String,
        /// Those that were.
        known: String,
    },
    /// The arguments are not those of the routine.
    Arguments {
        /// The routine's name.
        kind: String,
        /// What reading them says.
        cause: String,
    },
    /// The answer is not what the routine takes.
    Answer {
        /// The routine's name.
        kind: String,
        /// What reading it says.
        cause: String,
    },
    /// The session has come to an end.
    Ended(SessionId, State),
    /// It cannot be done in this state.
    State(SessionId, State, &'static str),
    /// Nothing has happened within the time that was given.
    Late(SessionId),
    /// What is stored cannot be read by this build.
    Unreadable(SessionId, String),
    /// A worker's thread has ended before it was told to, with this message.
    Worker(String),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::Store(error) => error.fmt(f),
            SessionError::NotAnId(text) => {
                write!(f, "`{text}` is no id of a session: those have 32 hexadecimal digits")
            }
            SessionError::NoSession(id) => write!(f, "there is no session {id}"),
            SessionError::NoKind { kind, known } => {
                write!(f, "no routine `{kind}` is registered here; there are: {known}")
            }
            SessionError::Arguments { kind, cause } => {
                write!(f, "these are not the arguments of `{kind}`: {cause}")
            }
            SessionError::Answer { kind, cause } => {
                write!(f, "this is not what `{kind}` takes for an answer: {cause}")
            }
            SessionError::Ended(id, state) => {
                write!(f, "session {id} has come to an end: it is {state}")
            }
            SessionError::State(id, state, rule) => write!(f, "session {id} is {state}: {rule}"),
            SessionError::Late(id) => write!(f, "nobody has run session {id} in time"),
            SessionError::Unreadable(id, cause) => write!(f, "session {id}: {cause}"),
            SessionError::Worker(cause) => write!(f, "a worker has ended early: {cause}"),
        }
    }
}

impl Error for SessionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SessionError::Store(error) => Some(error),
            _ => None,
        }
    }
}

leno_context::debug_as_told!(StoreError, SessionError);

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        SessionError::Store(error)
    }
}
