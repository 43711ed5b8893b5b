//! A value that is used by whoever has its [`Lock`], one at a time.
//!
//! The lock is enough: a mutex around the value, which nobody ever contends for, would cost two atomic
//! operations more each time.

use core::cell::UnsafeCell;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::Lock;

#[derive(Default)]
pub(crate) struct Guarded<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: one at a time touches the value, which therefore moves between threads at most.
unsafe impl<T: Send> Sync for Guarded<T> {}

// A panic frees the lock; what it left behind is for the next to judge.
impl<T> UnwindSafe for Guarded<T> {}
impl<T> RefUnwindSafe for Guarded<T> {}

impl<T> Guarded<T> {
    pub(crate) const fn new(value: T) -> Guarded<T> {
        Guarded { lock: Lock::new(), value: UnsafeCell::new(value) }
    }

    /// Calls `f` with the value, under the lock.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let held = self.lock.get();
        // SAFETY: the lock is held until `f` has returned or unwound, and nobody else touches the value
        // without it.
        let result = f(unsafe { &mut *self.value.get() });
        drop(held);
        result
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guarded by {:?}", self.lock)
    }
}

#[cfg(test)]
mod tests {
    use super::Guarded;

    #[test]
    fn one_at_a_time_has_the_value() {
        let rounds = if cfg!(miri) { 20 } else { 10_000 };
        let guarded = Guarded::new((0, 0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        guarded.with(|(first, second)| {
                            assert_eq!(first, second);
                            *first += 1;
                            std::hint::black_box(&first);
                            *second += 1;
                        });
                    }
                });
            }
        });
        assert_eq!(guarded.into_inner(), (3 * rounds, 3 * rounds));
    }

    #[test]
    fn a_panic_frees_it() {
        let guarded = Guarded::new(1);
        let panics = std::panic::catch_unwind(|| {
            guarded.with(|value| {
                *value = 2;
                std::panic::resume_unwind(Box::new(()));
            })
        });
        assert!(panics.is_err());
        assert_eq!(guarded.with(|value| *value), 2);
    }
}
