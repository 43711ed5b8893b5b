//! The lock of Madsen 2021: a word that is taken by compare-and-swap.
//!
//! Whoever has it is not preempted, so nobody of the same core spins for one who cannot run. It is for a
//! few instructions; what takes longer, or waits, is for a [`Semaphore`](crate::Semaphore).

use core::hint::spin_loop;
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use leno_context::user::Section;
use leno_kernel::NoPreempt;
use leno_kernel::layer::world;
use leno_kernel::log::Operation;

use crate::raw::Guarded;

/// How often it is tried before other threads may run.
const SPINS: u32 = 64;

/// A lock that is taken by spinning.
///
/// In Madsen 2021 `M.cmpAndSwap(0, 1) = 1` means that the lock was taken already: the operation gives
/// the *old* value. `compare_exchange` of Rust gives it too, and says besides whether it has swapped.
///
/// # Examples
/// ```
/// let lock = leno_process::Lock::new();
/// let held = lock.get();
/// assert!(lock.try_get().is_none());
/// drop(held);
/// assert!(lock.try_get().is_some());
/// ```
#[derive(Debug, Default)]
pub struct Lock {
    /// 0 free, 1 taken.
    word: AtomicU32,
}

/// A [`Lock`] that is taken; dropping it frees it. Whoever has it is not preempted.
#[must_use = "the lock is free when this is dropped"]
#[derive(Debug)]
pub struct Held<'a> {
    lock: &'a Lock,
    /// Ends after the lock is free.
    _section: NoPreempt,
}

impl Lock {
    /// Free.
    pub const fn new() -> Lock {
        Lock { word: AtomicU32::new(0) }
    }

    /// Takes it.
    ///
    /// # Blocking
    /// Spins. Do not park or yield while you have it: whoever spins for it on the same core would spin
    /// for ever.
    ///
    /// # Cancellation
    /// It is not ended by an exit.
    pub fn get(&self) -> Held<'_> {
        world::point(Operation::Lock, None);
        let mut spins = 0u32;
        loop {
            if let Some(held) = self.try_get() {
                return held;
            }
            spins += 1;
            if spins.is_multiple_of(SPINS) {
                std::thread::yield_now();
                world::point(Operation::Lock, None);
            } else {
                spin_loop();
            }
        }
    }

    /// Takes it, if it is free.
    pub fn try_get(&self) -> Option<Held<'_>> {
        let section = NoPreempt::begin();
        let old = self.word.compare_exchange(0, 1, Acquire, Relaxed);
        // Made only if it is had: dropping it would free another's.
        old.is_ok().then(|| Held { lock: self, _section: section })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.word.store(0, Release);
    }
}

/// A value that is used under a [`Lock`].
///
/// # Examples
/// ```
/// let queue = leno_process::Locked::new(Vec::new());
/// std::thread::scope(|scope| {
///     for n in 0..4 {
///         let queue = &queue;
///         scope.spawn(move || queue.with(|queue| queue.push(n)));
///     }
/// });
/// assert_eq!(queue.into_inner().len(), 4);
/// ```
#[derive(Debug, Default)]
pub struct Locked<T> {
    value: Guarded<T>,
}

impl<T> Locked<T> {
    /// A value, free.
    pub const fn new(value: T) -> Locked<T> {
        Locked { value: Guarded::new(value) }
    }

    /// Calls `f` with the value, under the lock. A panic of `f` frees it; what `f` left behind is for
    /// the next to judge.
    ///
    /// # Blocking
    /// As [`Lock::get`]; for ever, if `f` uses the same value again.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.value.with(f)
    }

    /// The same for what belongs to leno: `f` calls no user code, or debug builds abort.
    #[inline]
    #[track_caller]
    pub(crate) fn section<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.value.with(|value| {
            let _section = Section::open();
            f(value)
        })
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}
