//! Symmetric coroutines: members of a ring that pass control among themselves.
//!
//! Each thread has a ring; its own context, whatever calls these functions first, is the initial
//! member. [`spawn`] adds a member, which is next in the queue; [`yield_now`] gives control to the
//! next one and comes back after all others have had it; [`yield_to`] names who is next. [`run`]
//! lets all others finish, [`Member::join`] one of them. All functions act on the ring of the code
//! that calls them.
//!
//! [`scope`] enters a ring of its own, whose members may borrow, and ends those that are left
//! when it returns, also if they never ran. Members of a thread's ring that are left when the
//! thread ends are leaked, with a message: nothing is unwound from a thread-local's destructor.
//!
//! A panic ends the member it happens in; the others go on. The payload waits in [`failures`]. Of
//! those nobody takes, [`scope`] raises the first when it ends, and a thread's own ring shows it on
//! stderr when the thread ends.
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
mod member;

use core::panic::Location;

pub use crate::raw::ring::scope::{Scope, scope};
pub use error::{RingError, SpawnError};
pub(crate) use member::MemberKind;
pub use member::{Drained, Failure, Member};

use crate::{Builder, raw};

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

/// Gives control to the next in the queue (a spawned member is next) and goes to the queue's end;
/// returns when it is this member's turn again. With nobody else in the ring it returns at once,
/// and so it does while the member's own stack unwinds.
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
/// It waits for other members of the ring. For what other threads do, yield in a loop.
///
/// # Panics
/// When `condition` does not hold and nobody can change that: no other member is left in the ring,
/// or the member's own stack unwinds. Else as [`yield_now`].
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
        if let Err(error) = raw::ring::give_turn() {
            refuse(&error);
        }
    }
}

/// Gives control away until all other members have finished, also those they spawn meanwhile.
///
/// # Blocking
/// For as long as any of them runs. A member that waits for the initial one waits for ever.
///
/// # Cancellation
/// As [`yield_now`].
///
/// # Panics
/// When the caller is not the initial member, and as [`yield_now`].
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::ring;
///
/// let turns = std::cell::Cell::new(0);
/// ring::scope(|s| {
///     for length in [3, 5] {
///         let turns = &turns;
///         s.spawn(move || {
///             for _ in 0..length {
///                 turns.set(turns.get() + 1);
///                 ring::yield_now();
///             }
///         });
///     }
///     ring::run();
/// });
/// assert_eq!(turns.get(), 8);
/// ```
#[track_caller]
pub fn run() {
    if let Err(error) = raw::ring::run_all() {
        refuse(&error);
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

/// Takes the panics that have ended members of the current ring so far, first one first. What is
/// not taken is raised again by [`scope`].
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
