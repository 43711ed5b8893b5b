//! Switching onto a shared stack has two halves: preparing may fail, switching cannot. Not in
//! `suite`: it has an allocator of its own.
#![cfg(not(any(leno_baton, leno_asan)))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use leno_coroutine::ring::{self, RingError};
use leno_coroutine::shared::{Residence, SharedError, Stacks};
use leno_coroutine::{Step, Suspender};

/// The system's allocator, which fails on request.
struct Failing;

thread_local!(static FAIL: Cell<bool> = const { Cell::new(false) });

// SAFETY: forwards to the system's allocator, or fails as an allocator may.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if FAIL.get() && layout.align() == 1 && layout.size() > 32 {
            return std::ptr::null_mut();
        }
        // SAFETY: forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: forwarded.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

fn count(co: &Suspender<(), u32>, (): ()) {
    (0..u32::MAX).for_each(|n| co.suspend(n));
}

/// What resuming gives while the buffers for frames cannot be allocated.
fn failing<R>(f: impl FnOnce() -> R) -> R {
    FAIL.set(true);
    let result = f();
    FAIL.set(false);
    result
}

#[test]
fn s37_prepare_fails_cleanly_without_memory() {
    let stacks = Stacks::new(1);
    // SAFETY: nothing refers to the bodies' locals.
    let [a, b] = [(); 2].map(|()| unsafe { stacks.coroutine(count) }.unwrap());
    a.resume(());
    let refused = failing(|| b.try_resume(()));
    assert!(matches!(refused, Err(SharedError::NoMemory { .. })), "{refused:?}");
    assert_eq!(a.residence(), Residence::OnStack, "nothing was moved");
    assert_eq!(b.residence(), Residence::Stored);
}

#[test]
fn s38_after_a_failed_prepare_both_are_usable() {
    let stacks = Stacks::new(1);
    // SAFETY: nothing refers to the bodies' locals.
    let [a, b] = [(); 2].map(|()| unsafe { stacks.coroutine(count) }.unwrap());
    assert_eq!(a.resume(()), Step::Suspended(0));
    assert!(failing(|| b.try_resume(()).is_err()));
    assert_eq!(failing(|| a.resume(())), Step::Suspended(1), "needs no memory");
    assert_eq!(b.resume(()), Step::Suspended(0));
    assert_eq!(a.resume(()), Step::Suspended(2));
}

#[test]
fn s37_a_hop_without_memory_is_refused_and_changes_nothing() {
    let stacks = Stacks::new(1);
    let turns = std::rc::Rc::new(Cell::new(0));
    ring::scope(|_| {
        for _ in 0..2 {
            let turns = turns.clone();
            // SAFETY: nothing refers to the members' locals.
            unsafe {
                stacks.spawn(move || {
                    loop {
                        turns.set(turns.get() + 1);
                        ring::yield_now()
                    }
                })
            }
            .unwrap();
        }
        // The first member is on the stack now, the second is next.
        let members = ring::members().unwrap();
        ring::yield_to(&members[1]).unwrap();
        let before = ring::members().unwrap();
        let done = turns.get();
        let refused = failing(ring::try_yield_now);
        if let Err(error) = refused {
            assert!(matches!(error, RingError::NoMemory { .. }), "{error}");
            assert_eq!(ring::members().unwrap(), before);
            assert_eq!(turns.get(), done);
        } else {
            panic!("there was memory");
        }
        ring::yield_now();
        assert!(turns.get() > done);
    });
}
