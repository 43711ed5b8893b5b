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
#[inline(always)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
