//! Locks of this crate's own state, under which no user code is called: debug builds abort if it is.

use core::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use leno_context::user::Section;

/// What a mutex guards, while it is locked.
pub(crate) struct Sectioned<'a, T> {
    /// Unlocked before the section ends.
    guard: MutexGuard<'a, T>,
    _section: Section,
}

/// Locks a mutex, whether it is poisoned or not: nothing that can panic is done under it.
#[inline]
#[track_caller]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Sectioned<'_, T> {
    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    Sectioned { guard, _section: Section::open() }
}

impl<T> Deref for Sectioned<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Sectioned<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
