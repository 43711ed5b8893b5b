//! The two kinds of lock that a wait queue has: for one thread, and for any.

use core::cell::{RefCell, RefMut};
use core::ops::{Deref, DerefMut};

use leno_context::user::Section;

use crate::sync::{Mutex, MutexGuard};

/// For one thread: neither `Sync` nor atomic.
#[derive(Clone, Copy, Debug)]
pub enum Local {}

/// For any thread.
#[derive(Clone, Copy, Debug)]
pub enum Shared {}

/// [`Local`] or [`Shared`].
pub trait Lock: sealed::Sealed + 'static {
    /// Something that is used by one at a time.
    type Cell<X>;
    /// The right to use it.
    type Guard<'a, X: 'a>: DerefMut<Target = X>;

    /// Makes one.
    fn new<X>(content: X) -> Self::Cell<X>;
    /// Locks it. If another has it, `looks_away` waits a moment before it tries again.
    fn lock<X>(cell: &Self::Cell<X>, looks_away: bool) -> Self::Guard<'_, X>;
    /// Returns what is in it, where nobody else can use it.
    fn get_mut<X>(cell: &mut Self::Cell<X>) -> &mut X;
}

mod sealed {
    /// A wait queue relies on what its lock does: nobody else can make one.
    pub trait Sealed {}

    impl Sealed for super::Local {}
    impl Sealed for super::Shared {}
}

impl Lock for Local {
    type Cell<X> = RefCell<X>;
    type Guard<'a, X: 'a> = Held<RefMut<'a, X>>;

    #[inline(always)]
    fn new<X>(content: X) -> RefCell<X> {
        RefCell::new(content)
    }

    #[inline(always)]
    #[track_caller]
    fn lock<X>(cell: &RefCell<X>, _: bool) -> Held<RefMut<'_, X>> {
        Held::new(cell.borrow_mut())
    }

    fn get_mut<X>(cell: &mut RefCell<X>) -> &mut X {
        cell.get_mut()
    }
}

impl Lock for Shared {
    type Cell<X> = Mutex<X>;
    type Guard<'a, X: 'a> = Held<MutexGuard<'a, X>>;

    #[inline(always)]
    fn new<X>(content: X) -> Mutex<X> {
        Mutex::new(content)
    }

    #[inline(always)]
    #[track_caller]
    fn lock<X>(mutex: &Mutex<X>, looks_away: bool) -> Held<MutexGuard<'_, X>> {
        Held::new(lock(mutex, looks_away))
    }

    fn get_mut<X>(mutex: &mut Mutex<X>) -> &mut X {
        mutex.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Something that is locked or borrowed: a critical section, in which no user code runs.
pub struct Held<G> {
    // Unlocked first.
    guard: G,
    _section: Section,
}

impl<G> Held<G> {
    #[inline(always)]
    #[track_caller]
    fn new(guard: G) -> Held<G> {
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
/// A thread that looks away lets the other side put, or take, one value after the other with the lock in its own
/// cache. Two that look all the time pull it from core to core for every value. Where sides wait for each other that
/// would only take time.
#[inline(always)]
#[cfg(not(loom))]
fn lock<X>(mutex: &Mutex<X>, looks_away: bool) -> MutexGuard<'_, X> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(std::sync::TryLockError::WouldBlock) => lock_contended(mutex, looks_away),
    }
}

/// For how long to look away: about a quarter of a microsecond, in which ten values pass.
#[cfg(not(loom))]
const AWAY: u32 = 24;

#[cold]
#[inline(never)]
#[cfg(not(loom))]
fn lock_contended<X>(mutex: &Mutex<X>, looks_away: bool) -> MutexGuard<'_, X> {
    if looks_away {
        (0..AWAY).for_each(|_| core::hint::spin_loop());
    }
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Nobody looks away from loom.
#[cfg(loom)]
fn lock<X>(mutex: &Mutex<X>, _looks_away: bool) -> MutexGuard<'_, X> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
