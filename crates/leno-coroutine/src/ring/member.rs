//! What is known about members: handles, failures, and what a drain found.

use core::fmt;
use core::hash::{Hash, Hasher};

use leno_context::user::Panic;
use leno_context::{Name, State, Status};

use super::RingError;
use crate::migrate::StealError;
use crate::raw;

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

    /// Gives control away until this member has finished.
    ///
    /// If it fails, its panic stays in [`failures`](super::failures).
    ///
    /// # Blocking
    /// For as long as the member runs. Two members that wait for one another wait for ever.
    ///
    /// # Cancellation
    /// As [`yield_now`](super::yield_now).
    ///
    /// # Errors
    /// When it has not finished and it is the calling member itself, the initial member, of
    /// another thread or ring, or was given up; and inside an asymmetric coroutine that has entered
    /// no ring.
    ///
    /// # Examples
    /// ```
    /// # use leno_coroutine as leno;
    /// use leno::ring;
    ///
    /// let done = std::cell::Cell::new(0);
    /// ring::scope(|s| {
    ///     let worker = s.spawn(|| (0..3).for_each(|n| { done.set(n); ring::yield_now() }));
    ///     worker.join()?;
    ///     Ok::<(), ring::RingError>(())
    /// })?;
    /// assert_eq!(done.get(), 2);
    /// # Ok::<(), ring::RingError>(())
    /// ```
    pub fn join(&self) -> Result<(), RingError> {
        raw::ring::join(self)
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
    pub payload: Panic,
}

impl Failure {
    /// The text it panicked with, if it was a text.
    pub fn message(&self) -> Option<&str> {
        self.payload.message()
    }
}

/// What [`drain`](super::drain) found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Members that were ended.
    pub ended: usize,
    /// Members that could not be ended (they catch exit and go on): their stacks are leaked.
    pub leaked: usize,
}
