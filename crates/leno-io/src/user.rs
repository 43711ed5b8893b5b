//! Locks of this crate, and wakers, of which [`leno_context::user`] has the rule: none is called, cloned or
//! dropped while one of the locks is held.

use core::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use leno_context::user::{self, Panic, Section};
use leno_kernel::Waiter;

/// What a lock guards, while it is held. No user code may be called meanwhile; debug builds notice.
pub(crate) struct Locked<'a, T> {
    guard: MutexGuard<'a, T>,
    section: Section,
}

/// Locks. No user code runs under a lock, so none is left in the middle of a change by a panic.
#[track_caller]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Locked<'_, T> {
    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    Locked { guard, section: Section::open() }
}

impl<T> Locked<'_, T> {
    /// Releases the lock and blocks the thread as long as `is_so`.
    pub(crate) fn wait_while(self, changed: &Condvar, is_so: impl FnMut(&mut T) -> bool) {
        let Locked { guard, section } = self;
        drop(changed.wait_while(guard, is_so));
        drop(section);
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Wakes all of them, also those after one that panics. Returns what the first has raised.
pub(crate) fn wake_all(waiters: impl IntoIterator<Item = Waiter>) -> Option<Panic> {
    waiters
        .into_iter()
        .fold(None, |raised, waiter| user::first(raised, user::call(|| waiter.wake()).err()))
}

/// Goes on unwinding with what was raised, if anything was; unless the thread unwinds already: destructors
/// wake, too.
pub(crate) fn raise(raised: Option<Panic>) {
    if let Some(panic) = raised
        && !std::thread::panicking()
    {
        panic.resume();
    }
}
