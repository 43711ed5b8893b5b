//! What ties a coroutine to its thread: locks and pinned sections.
//!
//! Claims:
//! - `locked` is true while a guard exists; a guard is made by whoever changed it from false, so
//!   there is one at a time, and it alone refers to the value.
//! - A pin changes the count of the coroutine that made it only while that one is alive and this
//!   thread's. A guard may outlive its coroutine (it may be an output), so the pin knows the id and
//!   the thread it was made for: while it is counted, the coroutine is not stolen, so on that
//!   thread the block is ours as long as it carries the id.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};

use leno_context::control::{self, pins};
use leno_context::{Status, thread};

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
    /// Whose, and the number of its thread; none on a plain thread.
    made: Option<(Status, u32)>,
    amount: u16,
    /// It belongs to its thread.
    _stays: PhantomData<*mut ()>,
}

impl Pin {
    fn new(amount: u16) -> Pin {
        // SAFETY: the running coroutine's block, or null.
        let made = unsafe { control::current().as_ref() }.map(|block| {
            let more = block.pins.get().checked_add(amount);
            block.pins.set(more.expect("at most 255 locks and sections at once"));
            (Status::of(block), thread::current().number())
        });
        Pin { made, amount, _stays: PhantomData }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let Some((status, made_on)) = self.made else { return };
        if made_on != thread::current().number() {
            // It came here by a broken promise. Its coroutine stays where it is.
            return;
        }
        // Gone, and perhaps another one's block by now: then there is nothing to count.
        let Some(control) = status.control() else { return };
        // SAFETY: alive, and pinned to this thread until now.
        let count = &unsafe { control.as_ref() }.pins;
        count.set(count.get() - self.amount);
    }
}

/// A mutual-exclusion lock that knows about migration.
///
/// A [`Guard`] belongs to the thread: until it is dropped, the coroutine that locked cannot be
/// stolen, also if it has handed the guard to other code of its thread. An [`OwnedGuard`] belongs
/// to the coroutine and migrates with it. Waiting spins and gives the CPU to other threads
/// meanwhile; it is for short sections.
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
        let pin = Pin::new(pins::LOCK);
        self.acquire();
        Guard { lock: self, _pin: pin }
    }

    /// Locks, for the thread, if the lock is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let pin = Pin::new(pins::LOCK);
        self.try_acquire().then(|| Guard { lock: self, _pin: pin })
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
        self.try_acquire().then(|| OwnedGuard { lock: self })
    }

    fn release(&self) {
        self.locked.store(false, Release);
    }
}

/// A lock held by the thread; neither `Send` nor `Sync`.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
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
