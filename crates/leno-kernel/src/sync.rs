//! The primitives of protocols where threads meet: the real ones, or loom's, which tries every
//! interleaving (`--cfg loom`).

use core::ops::{Deref, DerefMut};

use leno_context::user::Section;

#[cfg(not(loom))]
pub(crate) use std::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread::{Thread, current as current_thread, park, park_timeout},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread::{Thread, current as current_thread, park},
};

/// loom has no time: a wait with a limit is one without.
#[cfg(loom)]
pub(crate) fn park_timeout(_: core::time::Duration) {
    park();
}

/// A lock that is held: a critical section, in which no code of a user runs.
pub(crate) struct Guard<'a, T> {
    // Unlocked first.
    content: MutexGuard<'a, T>,
    _section: Section,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.content
    }
}

/// Locks; a panic while it was locked has broken nothing here.
#[inline]
#[track_caller]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    let content = mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Guard { content, _section: Section::open() }
}
