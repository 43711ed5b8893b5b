//! A lock of leno's own, which is a critical section while it is held.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Section;

/// What a lock guards, while it is held. No user code may be called meanwhile; debug builds notice.
#[must_use = "it is unlocked when this is dropped"]
pub struct Locked<'a, T> {
    // Unlocked first.
    guard: MutexGuard<'a, T>,
    section: Section,
}

/// Locks, also what was locked during a panic: no user code runs under a lock, so none is left in the middle of a
/// change.
#[inline]
#[track_caller]
pub fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    Locked { guard, section: Section::open() }
}

impl<T> Locked<'_, T> {
    /// Releases the lock and blocks the thread until it is told that something has changed, for at most this long, or
    /// for no reason; then locks again. Whether the time is over.
    pub fn wait_timeout(self, changed: &Condvar, limit: Duration) -> (Self, bool) {
        let Locked { guard, section } = self;
        let waited = changed.wait_timeout(guard, limit);
        let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (Locked { guard, section }, timeout.timed_out())
    }

    /// Releases the lock and blocks the thread as long as `is_so`, which is asked under the lock.
    pub fn wait_while(self, changed: &Condvar, is_so: impl FnMut(&mut T) -> bool) {
        let Locked { guard, section } = self;
        drop(changed.wait_while(guard, is_so));
        drop(section);
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> fmt::Debug for Locked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Locked")
    }
}
