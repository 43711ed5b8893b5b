//! What is known about members: handles, failures, and what a drain found.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::any::Any;

use leno_context::{Name, State, Status};

use crate::migrate::StealError;

/// A handle of a member. It keeps nothing alive, and any thread may hold it to read its state.
/// Two are equal if they are handles of the same member.
#[derive(Clone)]
pub struct Member {
    pub(crate) status: Status,
    pub(crate) thread: u32,
    pub(crate) kind: MemberKind,
    pub(crate) name: Name,
}

/// What sort of member it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MemberKind {
    /// The context that entered the ring.
    Initial,
    /// Spawned, stays on its thread.
    Plain,
    /// May be stolen by other threads.
    Migrant,
}

impl Member {
    /// What it is doing.
    pub fn state(&self) -> State {
        self.status.state()
    }

    /// Whether it has returned, panicked or exited.
    pub fn is_finished(&self) -> bool {
        self.status.is_finished()
    }

    /// A view of its state.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Its id, unique in the process.
    pub fn id(&self) -> u64 {
        self.status.id()
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_str()
    }

    /// Says why this member cannot be stolen: only those made migratable can, through their own
    /// handle, [`crate::migrate::Member`].
    ///
    /// # Errors
    /// Always.
    pub fn steal(&self) -> Result<bool, StealError> {
        let name = self.to_string();
        match self.kind {
            MemberKind::Initial => Err(StealError::Initial),
            _ if self.is_finished() => Err(StealError::Finished { name }),
            _ => Err(StealError::NotMigratable { name }),
        }
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Member) -> bool {
        self.status == other.status
    }
}

impl Eq for Member {}

impl Hash for Member {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.status.hash(state);
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name.or_id(self.id()))
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({self}[{}])", self.state())
    }
}

/// A panic that ended a member.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Whose it was.
    pub member: Member,
    /// What it panicked with.
    pub payload: Box<dyn Any + Send>,
}

/// What [`drain`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Members that were ended.
    pub ended: usize,
    /// Members that could not be ended (they catch exit and go on): their stacks are leaked.
    pub leaked: usize,
}
