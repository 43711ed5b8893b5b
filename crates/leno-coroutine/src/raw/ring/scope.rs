//! A ring of its own, whose members may borrow.
//!
//! Claim: as for [`crate::raw::scope`]: all members of the ring have ended when [`scope`] returns or
//! unwinds, so what they borrow for `'scope` is there as long as they are.

use core::marker::PhantomData;
use core::panic::Location;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::drain::first_to_raise;
use super::{Ring, spawn_in};
use crate::Builder;
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
/// have run: their stacks unwind, their destructors run.
///
/// # Panics
/// With the panic of `f`, or of a destructor of what a member had captured. Aborts the process, with a message, when a member cannot be ended: its
/// body catches exit eight times, or the build has `panic = "abort"`.
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    // Members borrow the scope itself too, so it must outlive the drain.
    let scope = Scope { ring: Ring::enter(true), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    // SAFETY: freed below.
    let (_, failed) = unsafe { scope.ring.as_ref() }.drain();
    // SAFETY: entered above in this context; drained, so nobody is in it.
    unsafe { Ring::leave(scope.ring) };
    match (result, failed) {
        (Ok(result), None) => result,
        (Ok(_), Some(payload)) => resume_unwind(payload),
        (Err(payload), failed) => {
            resume_unwind(first_to_raise(Some(payload), failed).expect("one of them"))
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Adds a member that may borrow for `'scope`, with the default stack. It runs next.
    ///
    /// # Panics
    /// When there is no memory for a stack; [`Self::spawn_with`] returns an error instead.
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
    #[track_caller]
    pub fn spawn_with<F: FnOnce() + 'scope>(
        &'scope self,
        builder: Builder,
        body: F,
    ) -> Result<Member, SpawnError> {
        // SAFETY: `self` exists only while `scope` runs, which has not left the ring yet.
        let ring = unsafe { self.ring.as_ref() };
        // SAFETY: and which drains it before `'scope` ends.
        unsafe { spawn_in(ring, builder, Location::caller(), body) }
    }
}

impl core::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ring::Scope")
    }
}
