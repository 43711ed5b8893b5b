//! Locks of a graph, under which no user code is called.

use core::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use leno_context::user::Section;

/// The right to use what a lock guards. Debug builds end the process if user code is called, or a stack is left,
/// while there is one.
#[doc(hidden)]
pub struct Locked<G> {
    guard: G,
    _section: Section,
}

impl<G> Locked<G> {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(guard: G) -> Locked<G> {
        Locked { guard, _section: Section::open() }
    }
}

/// Locks a mutex, also one whose last owner has panicked.
#[inline(always)]
#[track_caller]
pub(crate) fn lock<X>(mutex: &Mutex<X>) -> Locked<MutexGuard<'_, X>> {
    Locked::new(mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

impl<G: Deref> Deref for Locked<G> {
    type Target = G::Target;

    #[inline(always)]
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Locked<G> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}
