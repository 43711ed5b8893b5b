//! The primitives of protocols where threads meet: the real ones, or loom's, which tries every
//! interleaving (`--cfg loom`).

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU32, Ordering},
    },
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU32, Ordering},
    },
    thread::yield_now as spin_loop,
};

/// Locks; a panic while it was locked has broken nothing here.
///
/// Where values are `streamed`, whoever finds it locked looks away for a moment: meanwhile the other side
/// puts, or takes, one value after the other with the lock in its own cache. Two that look all the time
/// pull it from core to core for every value. Where sides wait for each other that would only take time.
#[inline(always)]
#[cfg(not(loom))]
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, streamed: &bool) -> MutexGuard<'a, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(std::sync::TryLockError::WouldBlock) => lock_contended(mutex, *streamed),
    }
}

/// For how long to look away: about a quarter of a microsecond, in which ten values pass.
#[cfg(not(loom))]
const AWAY: u32 = 24;

#[cold]
#[inline(never)]
#[cfg(not(loom))]
fn lock_contended<T>(mutex: &Mutex<T>, streamed: bool) -> MutexGuard<'_, T> {
    if streamed {
        (0..AWAY).for_each(|_| spin_loop());
    }
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Nobody looks away from loom.
#[cfg(loom)]
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, _streamed: &bool) -> MutexGuard<'a, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
