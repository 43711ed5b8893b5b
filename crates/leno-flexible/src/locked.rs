//! Locks of this crate, in which no code of a user runs.

use core::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use leno_kernel::user::Section;

/// A lock that is held: a critical section.
pub(crate) struct Locked<'a, T> {
    // Unlocked first.
    content: MutexGuard<'a, T>,
    _section: Section,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Locked<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.content
    }
}

/// Locks; a panic while it was locked has broken nothing here.
#[inline]
#[track_caller]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let content = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    Locked { content, _section: Section::open() }
}
