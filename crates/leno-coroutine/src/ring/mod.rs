//! Symmetric coroutines: members of a ring that pass control among themselves.
//!
//! Each thread has a ring; its own context, whatever calls these functions first, is the initial
//! member. [`spawn`] adds a member, which runs next; [`yield_now`] gives control to the next one
//! and comes back after all others have had it; [`yield_to`] names who is next. All functions act
//! on the ring of the code that calls them.
//!
//! [`scope`] enters a ring of its own, whose members may borrow, and ends those that are left
//! when it returns. Members of a thread's ring that are left when the thread ends are leaked, with
//! a message: nothing is unwound from a thread-local's destructor.
//!
//! A panic ends the member it happens in; the others go on. The payload waits in [`failures`].
//!
//! # Examples
//! ```
//! # use leno_coroutine as leno;
//! use leno::ring;
//!
//! let log = std::cell::RefCell::new(String::new());
//! ring::scope(|s| {
//!     s.spawn(|| {
//!         log.borrow_mut().push_str("1 ");
//!         ring::yield_now();
//!         log.borrow_mut().push_str("2 ");
//!     });
//!     log.borrow_mut().push_str("start ");
//!     ring::yield_now();
//!     log.borrow_mut().push_str("middle ");
//!     ring::yield_now();
//!     log.borrow_mut().push_str("end");
//! });
//! assert_eq!(log.into_inner(), "start 1 middle 2 end");
//! ```

mod error;

use core::fmt;
use core::panic::Location;
use std::any::Any;

use leno_context::{Name, State, Status};

pub use crate::raw::ring::scope::{Scope, scope};
pub use error::{RingError, SpawnError};

use crate::migrate::StealError;
use crate::{Builder, raw};

/// A handle of a member. It keeps nothing alive, and any thread may hold it to read its state.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Member {
    pub(crate) status: Status,
    pub(crate) thread: u32,
    pub(crate) kind: MemberKind,
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

    /// Its name, while it is alive and cannot leave this thread.
    pub fn name(&self) -> Name {
        raw::ring::name_of(self)
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

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name().or_id(self.status.id()))
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
    /// Its name.
    pub name: Name,
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

/// Adds a member to the current ring, with the default stack. It runs next.
///
/// # Panics
/// When there is no memory for a stack, or inside an asymmetric coroutine that has entered no
/// ring; [`Builder::spawn`] returns an error instead.
#[track_caller]
pub fn spawn<F: FnOnce() + 'static>(body: F) -> Member {
    match raw::ring::spawn(Builder::new(), Location::caller(), body) {
        Ok(member) => member,
        Err(error) => panic!("{error}"),
    }
}

/// Gives control to the member that has waited longest; returns when it is this one's turn again.
/// With nobody else in the ring it returns at once, and so it does while the member's own stack
/// unwinds.
///
/// # Cancellation
/// When the ring is drained, this call unwinds the member's stack, so that destructors run.
///
/// # Panics
/// Inside an asymmetric coroutine that has entered no ring, or when the next member cannot be
/// brought onto its shared stack; see [`try_yield_now`].
#[inline(always)]
#[track_caller]
pub fn yield_now() {
    if let Err(error) = raw::ring::yield_now() {
        refuse(&error);
    }
}

#[cold]
#[track_caller]
fn refuse(error: &RingError) -> ! {
    panic!("{error}")
}

/// Like [`yield_now`], with an error instead of a panic.
///
/// # Errors
/// - [`RingError::InsideAsymmetric`].
/// - [`RingError::NoMemory`], [`RingError::Occupied`]: the next member cannot be brought onto its
///   shared stack; only with members of [`shared::Stacks::spawn`](crate::shared::Stacks::spawn).
///
/// Nothing has changed then: the next member is still the next.
pub fn try_yield_now() -> Result<(), RingError> {
    raw::ring::yield_now().map_err(|error| *error)
}

/// Gives control to `member` next. Later yields are first come, first served again. Naming the
/// member that runs returns at once.
///
/// # Cancellation
/// As [`yield_now`].
///
/// # Errors
/// - [`RingError::Finished`], [`RingError::GivenUp`]: the member can never run again.
/// - [`RingError::OtherThread`], [`RingError::OtherRing`]: it is not in this ring.
/// - [`RingError::InsideAsymmetric`]: the calling code is inside an asymmetric coroutine that has
///   entered no ring.
/// - [`RingError::Exiting`]: the stack of the calling member unwinds.
/// - [`RingError::NoMemory`], [`RingError::Occupied`]: the member cannot be brought onto its shared
///   stack now.
///
/// Nothing has changed then.
pub fn yield_to(member: &Member) -> Result<(), RingError> {
    raw::ring::yield_to(member)
}

/// Yields until `condition` holds; tests it once per turn.
///
/// # Panics
/// As [`yield_now`].
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::ring;
///
/// let cycles = std::cell::Cell::new(0);
/// ring::scope(|s| {
///     s.spawn(|| (0..10).for_each(|_| { cycles.set(cycles.get() + 1); ring::yield_now() }));
///     ring::wait_until(|| cycles.get() == 3);
/// });
/// assert_eq!(cycles.get(), 3);
/// ```
#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        yield_now();
    }
}

/// The member that is running, also when asked inside asymmetric coroutines that it has resumed.
///
/// # Errors
/// [`RingError::InsideAsymmetric`] on a thread that has no ring yet.
pub fn current() -> Result<Member, RingError> {
    raw::ring::current()
}

/// All members of the current ring, the running one first, then in the order they will run.
///
/// # Errors
/// [`RingError::InsideAsymmetric`].
pub fn members() -> Result<Vec<Member>, RingError> {
    raw::ring::members()
}

/// Takes the panics that have ended members of the current ring so far.
///
/// # Errors
/// [`RingError::InsideAsymmetric`].
pub fn failures() -> Result<Vec<Failure>, RingError> {
    raw::ring::failures()
}

/// Ends all members but the initial one, which must be the caller, in the order they would have
/// run. Their stacks unwind; members that never ran are dropped.
///
/// # Errors
/// [`RingError::NotInitial`], [`RingError::InsideAsymmetric`].
pub fn drain() -> Result<Drained, RingError> {
    raw::ring::drain()
}
