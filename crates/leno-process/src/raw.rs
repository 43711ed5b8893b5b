//! What needs `unsafe`: below, a value inside something shared that one thread alone may touch, without a
//! lock, and whether the calling coroutine exits; in `slot.rs`, a slot for one value between two; in `guarded.rs`, a value under a lock of leno's.
//!
//! A mailbox is called by everyone, and most of all by coroutines of the process's own core. These need no
//! lock among themselves: one of them runs at a time, and none is switched away from in the middle. What
//! is deliberately not here: waiting. Who may not touch the value goes another way.

use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use leno_context::user::Section;
use leno_context::{control, unwind};
use leno_kernel::has_thread_number;
use leno_kernel::layer::thread_number;

mod guarded;
mod slot;

pub(crate) use guarded::Guarded;
pub(crate) use slot::{Giver, Taker, slot};

/// Whether exit has been raised in the coroutine on whose stack the calling code runs. Together with
/// `panicking()` it says that its stack unwinds, and not because of a panic.
#[cold]
pub(crate) fn is_exiting() -> bool {
    // SAFETY: the block of the coroutine whose code is running is live.
    NonNull::new(control::current()).is_some_and(|own| unwind::is_exiting(unsafe { own.as_ref() }))
}

/// Nobody's number.
const NOBODY: u32 = 0;

/// A value that belongs to a thread, once one has claimed it.
pub(crate) struct Owned<T> {
    /// The thread's number; changed once, by that thread.
    owner: AtomicU32,
    /// Whether there is an [`Inside`].
    is_entered: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: `is_entered` and `value` are touched by the owner only, and by whoever drops the whole, who has
// it alone. Both may be other threads than the one that made it, hence `Send`.
unsafe impl<T: Send> Sync for Owned<T> {}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Owned<T> {
        let (owner, is_entered) = (AtomicU32::new(NOBODY), Cell::new(false));
        Owned { owner, is_entered, value: UnsafeCell::new(value) }
    }

    /// Makes it the calling thread's, for ever, if it is nobody's.
    pub(crate) fn claim(&self) {
        // Nothing but the number is told by it: what the owner finds it has written itself, or whoever
        // made the whole, which it was given.
        let _ = self.owner.compare_exchange(NOBODY, thread_number(), Relaxed, Relaxed);
    }

    /// Whether it is the calling thread's.
    #[inline(always)]
    pub(crate) fn is_own(&self) -> bool {
        has_thread_number(self.owner.load(Relaxed))
    }

    /// The value, if it is the calling thread's and nobody is inside. No user code may be called inside; debug
    /// builds notice.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Option<Inside<'_, T>> {
        if !self.is_own() || self.is_entered.replace(true) {
            return None;
        }
        Some(Inside { owned: self, _section: Section::open() })
    }
}

/// The right to touch the value.
pub(crate) struct Inside<'a, T> {
    owned: &'a Owned<T>,
    /// It stays on its thread.
    _section: Section,
}

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the calling thread is the owner, and this is the only `Inside`.
        unsafe { &*self.owned.value.get() }
    }
}

impl<T> DerefMut for Inside<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this is borrowed mutably.
        unsafe { &mut *self.owned.value.get() }
    }
}

impl<T> Drop for Inside<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.owned.is_entered.set(false);
    }
}

impl<T> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owned by thread {}", self.owner.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::Owned;

    #[test]
    fn only_the_thread_that_has_claimed_it_gets_in() {
        let owned = Owned::new(vec![1]);
        assert!(owned.enter().is_none(), "it is nobody's");
        owned.claim();
        owned.enter().unwrap().push(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                owned.claim();
                assert!(owned.enter().is_none(), "it is another's");
            });
        });
        assert_eq!(*owned.enter().unwrap(), [1, 2]);
    }

    #[test]
    fn one_at_a_time_is_inside() {
        let owned = Owned::new(0);
        owned.claim();
        let first = owned.enter();
        assert!(first.is_some() && owned.enter().is_none());
        drop(first);
        assert!(owned.enter().is_some());
    }
}
