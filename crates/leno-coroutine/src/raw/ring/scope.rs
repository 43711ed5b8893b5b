//! A ring of its own, whose members may borrow.
//!
//! Claim: as for [`crate::raw::scope`]: all members of the ring have ended when [`scope`] returns or
//! unwinds, so what they borrow for `'scope` is there as long as they are.

use core::marker::PhantomData;
use core::panic::Location;
use core::ptr::NonNull;
use std::thread::panicking;

use leno_context::last_words;
use leno_context::user;

use super::{Ring, spawn_in};
use crate::Builder;
use crate::raw::chain::Owner;
use crate::raw::floor;
use crate::raw::scope::leave;
use crate::ring::{Member, SpawnError};

/// Adds members that may borrow from outside the scope; made by [`scope`].
pub struct Scope<'scope, 'env> {
    ring: NonNull<Ring>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Enters a ring of its own, of which the calling context is the initial member, and runs `f`.
///
/// When `f` returns or panics, members that have not finished are ended, in the order they would
/// have run: their stacks unwind, their destructors run. **A member that has not had a turn by
/// then never runs**: let them finish first with [`run`](crate::ring::run), or wait for one with
/// [`Member::join`].
///
/// # Panics
/// With the panic of `f`; or else with that of the first member that has failed, unless
/// [`failures`](crate::ring::failures) has taken it; or else with that of dropping what a member
/// that never ran had captured. If the calling code is itself unwinding, a line on stderr says so
/// instead.
///
/// A destructor that panics while the stack of a started member unwinds aborts the process, as in
/// any unwinding. So does a member that cannot be ended, with a message: its body catches exit
/// eight times, the build has `panic = "abort"`, or the scope began before its thread's end and is left
/// in the destructor of a thread-local.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::ring;
///
/// let words = ["one", "three"];
/// let total = std::cell::Cell::new(0);
/// ring::scope(|s| {
///     for word in &words {
///         s.spawn(|| total.set(total.get() + word.len()));
///     }
///     ring::run();
/// });
/// assert_eq!(total.get(), 8);
/// ```
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    // Members borrow the scope itself too, so it must outlive the drain.
    let scope = Scope { ring: Ring::enter(true), scope: PhantomData, env: PhantomData };
    let result = user::call(|| f(&scope));
    // SAFETY: freed below.
    let ring = unsafe { scope.ring.as_ref() };
    let (_, failed) = ring.drain();
    let unread = ring.failures.take();
    // SAFETY: entered above in this context; drained, so nobody is in it.
    unsafe { Ring::leave(scope.ring) };
    let unread = unread.into_iter().map(|failure| Some(failure.payload));
    let failed = floor::first(unread.fold(None, floor::first), failed);
    match (result, failed) {
        (Ok(result), Some(panic)) if panicking() && !floor::is_exit_here(panic.payload()) => {
            last_words::say(format_args!(
                "a member panicked in a ring's scope of code that was itself unwinding: the panic \
                 goes no further"
            ));
            result
        }
        (result, failed) => leave(result, failed),
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Adds a member that may borrow for `'scope`, with the default stack. It runs next.
    ///
    /// # Panics
    /// When there is no memory for a stack; [`Self::spawn_with`] returns an error instead. When the calling
    /// code does not run inside the coroutine that has entered the ring.
    #[track_caller]
    pub fn spawn<F: FnOnce() + 'scope>(&'scope self, body: F) -> Member {
        match self.spawn_with(Builder::new(), body) {
            Ok(member) => member,
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds a member that may borrow for `'scope`, with the builder's name and stack size.
    ///
    /// # Errors
    /// When there is no stack of that size.
    ///
    /// # Panics
    /// When the calling code does not run inside the coroutine that has entered the ring.
    #[track_caller]
    pub fn spawn_with<F: FnOnce() + 'scope>(
        &'scope self,
        builder: Builder,
        body: F,
    ) -> Result<Member, SpawnError> {
        // SAFETY: `self` exists only while `scope` runs, which has not left the ring yet.
        let ring = unsafe { self.ring.as_ref() };
        // SAFETY: the scope is in frames of the ring's host, and stays on their thread.
        unsafe { Owner::of(ring.host).assert_inside("a ring's scope") };
        // SAFETY: and which drains it before `'scope` ends.
        unsafe { spawn_in(ring, builder, Location::caller(), body) }
    }
}

impl core::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ring::Scope")
    }
}
