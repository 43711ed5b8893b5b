//! What ties a coroutine to its thread: locks and pinned sections.
//!
//! Claim: `locked` is true while a guard exists; a guard is made by whoever changed it from false,
//! so there is one at a time, and it alone refers to the value.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};

use leno_context::control::{self, Control, pins};

/// Runs `f` as a section in which the running coroutine cannot be stolen, although it may suspend:
/// for foreign code, and for whatever is bound to the thread.
///
/// On a plain thread, or in a coroutine that cannot migrate, it just runs `f`.
pub fn pinned<R>(f: impl FnOnce() -> R) -> R {
    let _pin = Pin::new(pins::SECTION);
    f()
}

/// A reason not to be stolen, counted in the running coroutine's block while it lasts.
struct Pin {
    control: *const Control,
    amount: u16,
}

impl Pin {
    fn new(amount: u16) -> Pin {
        let control = control::current().cast_const();
        if !control.is_null() {
            // SAFETY: the running coroutine's block.
            let count = &unsafe { &*control }.pins;
            let more = count.get().checked_add(amount);
            count.set(more.expect("at most 255 locks and sections at once"));
        }
        Pin { control, amount }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if !self.control.is_null() {
            // SAFETY: pins are dropped by the coroutine that made them, while it runs.
            let count = &unsafe { &*self.control }.pins;
            count.set(count.get() - self.amount);
        }
    }
}

/// A mutual-exclusion lock that knows about migration.
///
/// A [`Guard`] belongs to the thread: while a coroutine holds one it cannot be stolen. An
/// [`OwnedGuard`] belongs to the coroutine and migrates with it. Waiting spins and gives the CPU
/// to other threads meanwhile; it is for short sections.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::migrate::Lock;
///
/// let total = Lock::new(1);
/// *total.lock() += 1;
/// assert_eq!(*total.lock_owned(), 2);
/// ```
#[derive(Debug, Default)]
pub struct Lock<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is handed from guard to guard, ordered by `locked`.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Lock<T> {
        Lock { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    fn try_acquire(&self) -> bool {
        self.locked.compare_exchange(false, true, Acquire, Acquire).is_ok()
    }

    fn acquire(&self) {
        while !self.try_acquire() {
            std::thread::yield_now();
        }
    }

    /// Locks, for the thread: the running coroutine cannot be stolen until the guard is dropped.
    ///
    /// # Blocking
    /// Until the lock is free. A coroutine that waits for one of its own thread waits for ever.
    pub fn lock(&self) -> Guard<'_, T> {
        self.acquire();
        Guard { lock: self, _pin: Pin::new(pins::LOCK) }
    }

    /// Locks, for the thread, if the lock is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.try_acquire().then(|| Guard { lock: self, _pin: Pin::new(pins::LOCK) })
    }

    /// Locks, for the coroutine: the guard migrates with it.
    ///
    /// # Blocking
    /// Until the lock is free. A coroutine that waits for one of its own thread waits for ever.
    pub fn lock_owned(&self) -> OwnedGuard<'_, T> {
        self.acquire();
        OwnedGuard { lock: self }
    }

    /// Locks, for the coroutine, if the lock is free.
    pub fn try_lock_owned(&self) -> Option<OwnedGuard<'_, T>> {
        self.try_acquire().then_some(OwnedGuard { lock: self })
    }

    fn release(&self) {
        self.locked.store(false, Release);
    }
}

/// A lock held by the thread.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// Not `Send`, by its pointer.
    _pin: Pin,
}

/// A lock held by the coroutine, wherever it runs.
pub struct OwnedGuard<'a, T> {
    lock: &'a Lock<T>,
}

// SAFETY: as `&mut T`, which it stands for: other threads may look at it if they may at `T`.
unsafe impl<T: Sync> Sync for OwnedGuard<'_, T> {}

macro_rules! guard {
    ($guard:ident) => {
        impl<T> Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: one guard at a time.
                unsafe { &*self.lock.value.get() }
            }
        }

        impl<T> DerefMut for $guard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: one guard at a time.
                unsafe { &mut *self.lock.value.get() }
            }
        }

        impl<T> Drop for $guard<'_, T> {
            fn drop(&mut self) {
                self.lock.release();
            }
        }

        impl<T: core::fmt::Debug> core::fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

guard!(Guard);
guard!(OwnedGuard);
