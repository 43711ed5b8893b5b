//! What can go wrong in a ring, by name.

use std::fmt;

use crate::CreateError;

/// An operation on a ring was refused. Nothing has changed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingError {
    /// Called inside an asymmetric coroutine that has entered no ring: control goes back to its
    /// resumer only. [`scope`](crate::ring::scope) enters a ring inside it.
    InsideAsymmetric {
        /// That coroutine.
        coroutine: String,
    },
    /// The member belongs to another thread.
    OtherThread {
        /// The member named.
        member: String,
    },
    /// The member belongs to another ring of this thread.
    OtherRing {
        /// The member named.
        member: String,
    },
    /// The member has finished.
    Finished {
        /// The member named.
        member: String,
    },
    /// The member has caught its exit and gone on, again and again, and was given up.
    GivenUp {
        /// The member named.
        member: String,
    },
    /// Only the initial member can do that.
    NotInitial {
        /// The member that tried.
        member: String,
    },
    /// The running member's own stack unwinds.
    Exiting {
        /// The member that tried.
        from: String,
    },
    /// A member cannot wait for itself.
    Itself {
        /// The member that tried.
        member: String,
    },
    /// The initial member cannot be waited for: it ends with its ring.
    Initial {
        /// The initial member.
        member: String,
    },
    /// No other member is left that could change what is waited for.
    Alone,
    /// There is no memory to make room for the member on its shared stack.
    NoMemory {
        /// The member whose turn it is.
        member: String,
    },
    /// The coroutine that is on the member's shared stack is in the middle of a call, or of a wait.
    Occupied {
        /// The member whose turn it is.
        member: String,
        /// Who is on its stack.
        by: String,
    },
    /// The current member cannot be left: it runs a coroutine of a system on top of it, which has to park or
    /// end first.
    Held {
        /// The current member.
        member: String,
    },
    /// The thread has no ring yet.
    NoRing,
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingError::InsideAsymmetric { coroutine } => write!(
                f,
                "asymmetric coroutine {coroutine} has no ring: its control goes back to its \
                 resumer only (ring::scope enters a ring inside it)"
            ),
            RingError::OtherThread { member } => {
                write!(f, "member {member} belongs to another thread")
            }
            RingError::OtherRing { member } => write!(f, "member {member} belongs to another ring"),
            RingError::Finished { member } => write!(f, "member {member} is finished"),
            RingError::GivenUp { member } => {
                write!(f, "member {member} has refused to end and was given up")
            }
            RingError::NotInitial { member } => {
                write!(f, "only the initial member can run or drain its ring, not {member}")
            }
            RingError::Itself { member } => write!(f, "member {member} cannot wait for itself"),
            RingError::Initial { member } => {
                write!(f, "initial member {member} ends with its ring: nobody can wait for it")
            }
            RingError::Alone => f.write_str(
                "no other member is left in the ring that could change what is waited for",
            ),
            RingError::Exiting { from } => {
                write!(f, "member {from} cannot give control away while its own stack unwinds")
            }
            RingError::NoMemory { member } => {
                write!(f, "no memory to make room for member {member} on its shared stack")
            }
            RingError::Occupied { member, by } => write!(
                f,
                "member {member} cannot have its turn: {by} is on its shared stack, in the middle \
                 of a call or a wait"
            ),
            RingError::Held { member } => write!(
                f,
                "member {member} cannot give control away: a coroutine of a system runs on top of it, by \
                 `attach` or eagerly, and parks or ends before"
            ),
            RingError::NoRing => f.write_str("this thread has no ring yet"),
        }
    }
}

impl std::error::Error for RingError {}

/// A member could not be added.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no stack for it.
    Create(CreateError),
    /// There is no ring to add it to.
    Ring(RingError),
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::Create(error) => error.fmt(f),
            SpawnError::Ring(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SpawnError {}

leno_context::debug_as_told!(RingError, SpawnError);

impl From<CreateError> for SpawnError {
    fn from(error: CreateError) -> Self {
        SpawnError::Create(error)
    }
}

impl From<RingError> for SpawnError {
    fn from(error: RingError) -> Self {
        SpawnError::Ring(error)
    }
}
