//! Locks and what they tie down: a guard unlocks wherever it is dropped, and counts for the
//! coroutine that locked and for no other one.
#![cfg(not(any(leno_baton, leno_asan)))]

use std::thread;

use leno_coroutine::migrate::{Guard, Lock, Migrant, StealError};
use leno_coroutine::{Builder, Coroutine, Suspender, ring};

/// Runs `f` on another thread and waits for it.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|s| s.spawn(f).join().unwrap())
}

/// A coroutine that may migrate, except that it holds a guard of `lock` from its first suspension
/// on.
fn tied(lock: &'static Lock<u32>) -> Migrant<(), ()> {
    let body = |co: &Suspender<(), ()>, ()| {
        let _guard = lock.lock();
        loop {
            co.suspend(());
        }
    };
    // SAFETY: whenever it suspends it holds a guard of its own, which ties it to its thread.
    unsafe { Builder::new().name("tied").migratable(body) }.unwrap()
}

fn is_locked(migrant: &Migrant<(), ()>) -> bool {
    matches!(elsewhere(|| migrant.steal()), Err(StealError::Locked { .. }))
}

#[test]
fn guard_that_outlives_its_coroutine_unlocks() {
    static LOCK: Lock<u32> = Lock::new(7);
    let co: Coroutine<(), Guard<'static, u32>> =
        Coroutine::new(|co: &Suspender<_, _>, ()| co.suspend(LOCK.lock()));
    let guard = co.resume(()).suspended().unwrap();
    drop(co);
    assert_eq!(*guard, 7);
    assert!(LOCK.try_lock().is_none());
    drop(guard);
    assert!(LOCK.try_lock().is_some());
}

#[test]
fn guard_that_outlives_its_coroutine_frees_no_other_one() {
    static OLD: Lock<u32> = Lock::new(0);
    static NEW: Lock<u32> = Lock::new(0);
    let co: Coroutine<(), Guard<'static, u32>> =
        Coroutine::new(|co: &Suspender<_, _>, ()| co.suspend(OLD.lock()));
    let guard = co.resume(()).suspended().unwrap();
    drop(co);
    // On the stack that has just become free.
    let migrant = tied(&NEW);
    migrant.resume(());
    drop(guard);
    migrant.resume(());
    assert!(is_locked(&migrant));
}

/// The guard is a result: the coroutine that locked has finished when it is dropped.
#[test]
fn guard_may_be_a_result() {
    static LOCK: Lock<u32> = Lock::new(1);
    // SAFETY: it does not suspend.
    let co = unsafe { Builder::new().migratable(|_: &Suspender<(), ()>, ()| LOCK.lock()) }.unwrap();
    let mut guard = co.resume(()).finished().unwrap();
    *guard += 1;
    drop(guard);
    assert_eq!(*LOCK.lock(), 2);
}

#[test]
fn guard_given_to_the_resumer_ties_the_coroutine_until_it_is_dropped() {
    static LOCK: Lock<u32> = Lock::new(0);
    let body = |co: &Suspender<(), Option<Guard<'static, u32>>>, ()| {
        co.suspend(Some(LOCK.lock()));
        co.suspend(None);
    };
    // SAFETY: it keeps nothing across its suspensions.
    let co = unsafe { Builder::new().migratable(body) }.unwrap();
    let guard = co.resume(()).suspended().flatten().unwrap();
    assert!(matches!(elsewhere(|| co.steal()), Err(StealError::Locked { .. })));
    drop(guard);
    co.resume(());
    assert_eq!(elsewhere(|| co.steal()), Ok(true));
}

#[test]
fn guard_passes_between_members_of_a_ring() {
    static LOCK: Lock<u32> = Lock::new(0);
    let slot = std::cell::RefCell::new(None);
    ring::scope(|s| {
        s.spawn(|| *slot.borrow_mut() = Some(LOCK.lock()));
        ring::yield_now();
        s.spawn(|| drop(slot.borrow_mut().take()));
        ring::yield_now();
    });
    assert!(LOCK.try_lock().is_some());
}

#[test]
fn trying_in_vain_unlocks_nothing() {
    let lock = Lock::new(());
    let held = lock.lock_owned();
    assert!(lock.try_lock_owned().is_none());
    assert!(lock.try_lock().is_none());
    assert!(lock.try_lock_owned().is_none(), "it is still locked");
    drop(held);
    let held = lock.try_lock().expect("free");
    assert!(lock.try_lock_owned().is_none());
    drop(held);
    assert!(lock.try_lock_owned().is_some());
}
