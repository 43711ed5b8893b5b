//! The primitives of protocols where threads meet: the real ones, or loom's, which tries every
//! interleaving (`--cfg loom`).

use core::ops::{Deref, DerefMut};

use leno_kernel::user::Section;

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

/// Something that is locked or borrowed: a critical section, in which no code of a user runs.
pub struct Held<G> {
    // Unlocked first.
    guard: G,
    _section: Section,
}

impl<G> Held<G> {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(guard: G) -> Held<G> {
        Held { guard, _section: Section::open() }
    }
}

impl<G: Deref> Deref for Held<G> {
    type Target = G::Target;

    #[inline(always)]
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Held<G> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

/// Locks; a panic while it was locked has broken nothing here.
///
/// Where values are `streamed`, whoever finds it locked looks away for a moment: meanwhile the other side
/// puts, or takes, one value after the other with the lock in its own cache. Two that look all the time
/// pull it from core to core for every value. Where sides wait for each other that would only take time.
#[inline(always)]
#[cfg(not(loom))]
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, streamed: &bool) -> Held<MutexGuard<'a, T>> {
    let guard = match mutex.try_lock() {
        Ok(guard) => guard,
        Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(std::sync::TryLockError::WouldBlock) => lock_contended(mutex, *streamed),
    };
    Held::new(guard)
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
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, _streamed: &bool) -> Held<MutexGuard<'a, T>> {
    Held::new(mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}
