//! Planted mistakes that a checker must report.
//!
//! A sanitizer leg that finds nothing may be one that looks at nothing: a flag dropped on the
//! way, a runtime not linked, a report nobody reads. So each leg of `.ci/run` runs the canaries
//! of its checker, one by one, and fails unless each of them fails with the checker's message.
//! Without the checker and its `cfg` they pass, which is the alarm.
//!
//! Each mistake is made inside a coroutine that has been suspended and resumed, so that it also
//! shows that the checker still knows where it is after a switch.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use leno_coroutine::{Coroutine, Suspender};

/// Runs `mistake` in a coroutine, after a suspension, if `checked`.
fn commit(checked: bool, mistake: fn()) {
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        co.suspend(());
        if checked {
            mistake();
        }
    });
    coroutine.resume(());
    coroutine.resume(());
}

fn use_after_free() {
    let owner = Box::new(black_box(7u64));
    let freed = &raw const *owner;
    drop(owner);
    // SAFETY: none. This is the mistake to be found.
    black_box(unsafe { freed.read() });
}

#[test]
#[ignore = "canary: run by .ci/run, must fail"]
fn asan_use_after_free() {
    commit(cfg!(leno_asan), use_after_free);
}

#[test]
#[ignore = "canary: run by .ci/run, must fail"]
fn asan_stack_overrun() {
    commit(cfg!(leno_asan), || {
        let room = black_box([0u64; 4]);
        let behind = room.as_ptr().wrapping_add(black_box(4));
        // SAFETY: none. This is the mistake to be found.
        black_box(unsafe { behind.read() });
    });
}

#[test]
#[ignore = "canary: run by .ci/run, must fail"]
fn asan_use_after_return() {
    #[inline(never)]
    fn frame() -> *const u64 {
        let local = black_box(7);
        black_box(&raw const local)
    }
    commit(cfg!(leno_asan), || {
        let gone = frame();
        // SAFETY: none. This is the mistake to be found.
        black_box(unsafe { gone.read() });
    });
}

#[test]
#[ignore = "canary: run by .ci/run, must fail"]
fn lsan_leak() {
    commit(cfg!(leno_asan), || {
        (0..100).for_each(|n| std::mem::forget(black_box(Box::new([n; 100]))));
    });
}

#[test]
#[ignore = "canary: run by .ci/run, must fail"]
fn tsan_data_race() {
    struct Shared(UnsafeCell<u64>);
    // SAFETY: none. This is the mistake to be found.
    unsafe impl Sync for Shared {}
    static SHARED: Shared = Shared(UnsafeCell::new(0));

    // Both are at it at the same time: one after the other they would be ordered by the lock of
    // the pool, through which the second gets the first one's stack.
    static READY: AtomicUsize = AtomicUsize::new(0);
    let race = || {
        commit(cfg!(leno_tsan), || {
            READY.fetch_add(1, Relaxed);
            while READY.load(Relaxed) < 2 {
                thread::yield_now();
            }
            // SAFETY: none, as above.
            (0..1000).for_each(|_| unsafe { *SHARED.0.get() += 1 });
        })
    };
    thread::scope(|s| {
        s.spawn(race);
        s.spawn(race);
    });
}

#[test]
#[ignore = "canary: run by .ci/run, must fail"]
fn miri_use_after_free() {
    commit(cfg!(miri), use_after_free);
}
