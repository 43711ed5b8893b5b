//! A coroutine that ends frees its data: memory and stacks stay flat over a million of them, and
//! every destructor runs once. Figures are of the whole process, so each count has one of its own.
// Sanitizers have memory and signal handlers of their own.
#![cfg(not(any(leno_baton, leno_asan, leno_tsan)))]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use crate::support::{OnDrop, memory, plays, rerun, times};
use leno_coroutine::{Coroutine, Guards, Local, Step, Suspender, ring, scope, stack_figures};

/// What may come and go unnoticed, in KiB of resident memory.
const SLACK: usize = 4 * 1024;

/// Runs `round` often; after a tenth of it neither memory nor stacks may grow.
fn stays_flat(rounds: usize, mut round: impl FnMut(usize)) {
    (0..rounds / 10).for_each(&mut round);
    let (memory_before, before) = (memory("VmRSS"), stack_figures());
    (rounds / 10..rounds).for_each(&mut round);
    let (memory_after, after) = (memory("VmRSS"), stack_figures());
    assert_eq!((before.live, before.high_water), (after.live, after.high_water));
    assert_eq!(before.reserved, after.reserved);
    assert!(memory_after < memory_before + SLACK, "{memory_before} became {memory_after} KiB");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s40_a_million_coroutines_one_after_another() {
    const TEST: &str = concat!(module_path!(), "::s40_a_million_coroutines_one_after_another");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    stays_flat(1_000_000, |n| {
        let coroutine = Coroutine::new(|_: &Suspender<usize, ()>, n| n + 1);
        assert_eq!(coroutine.resume(n), Step::Finished(n + 1));
    });
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s40_members_of_a_ring_one_after_another() {
    const TEST: &str = concat!(module_path!(), "::s40_members_of_a_ring_one_after_another");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    stays_flat(200_000, |_| {
        let member = ring::spawn(|| ());
        ring::yield_now();
        assert!(member.is_finished());
    });
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s40_ends_of_every_kind_free_what_the_coroutine_had() {
    const TEST: &str =
        concat!(module_path!(), "::s40_ends_of_every_kind_free_what_the_coroutine_had");
    static BUFFER: Local<Vec<u8>> = Local::new(|| vec![1; 1000]);
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    std::panic::set_hook(Box::new(|_| ()));
    stays_flat(20_000, |n| {
        let body = move |co: &Suspender<Vec<u8>, Vec<u8>>, given: Vec<u8>| {
            let local = BUFFER.with(Vec::clone);
            let again = co.suspend(given);
            if n % 2 == 0 {
                resume_unwind(Box::new(again));
            }
            local
        };
        let ended = Coroutine::new(body);
        ended.resume(vec![2; 1000]);
        // Returned or failed, dropped in the middle, dropped before it began.
        let end = catch_unwind(AssertUnwindSafe(|| ended.resume(vec![3; 1000])));
        assert_eq!(end.is_err(), n % 2 == 0);
        Coroutine::new(body).resume(vec![4; 1000]);
        drop(Coroutine::new(body));
        ring::scope(|s| {
            let lent = vec![5; 1000];
            s.spawn(move || {
                ring::yield_now();
                drop(lent);
            });
            ring::yield_now();
        });
        scope(|s| {
            let child = s.coroutine(|co: &Suspender<(), ()>, ()| co.suspend(()));
            child.resume(());
            std::mem::forget(child);
        });
    });
}

#[test]
fn s40_dropping_ten_thousand_suspended_ones_runs_their_destructors() {
    let drops = Rc::new(Cell::new(0));
    let count = times(10_000, 20);
    let all: Vec<Coroutine<(), ()>> = (0..count)
        .map(|_| {
            let drops = drops.clone();
            let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
                let _guard = OnDrop(|| drops.set(drops.get() + 1));
                co.suspend(());
            });
            coroutine.resume(());
            coroutine
        })
        .collect();
    assert_eq!(drops.get(), 0);
    drop(all);
    assert_eq!((drops.get(), Rc::strong_count(&drops)), (count, 1));
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s40_a_hundred_thousand_alive_at_once() {
    const TEST: &str = concat!(module_path!(), "::s40_a_hundred_thousand_alive_at_once");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    // Guards that use up mappings, as on older kernels and under emulation, allow fewer.
    let count = if stack_figures().guards == Guards::Light { 100_000 } else { 25_000 };
    let before = memory("VmRSS");
    let body = |co: &Suspender<usize, usize>, n| co.suspend(n);
    let all: Vec<Coroutine<usize, usize, usize>> = (0..count)
        .map(|n| {
            let coroutine = Coroutine::new(body);
            assert_eq!(coroutine.resume(n), Step::Suspended(n));
            coroutine
        })
        .collect();
    assert_eq!(stack_figures().live, count);
    let each = (memory("VmRSS") - before) as f64 / count as f64;
    assert!(each < 9.0, "{each:.2} KiB each: more than two pages and the handle");
    assert!(all.iter().enumerate().all(|(n, co)| co.resume(n + 1) == Step::Finished(n + 1)));
    drop(all);
    let after = stack_figures();
    assert_eq!((after.live, after.pooled), (0, count));
    let kept = memory("VmRSS").saturating_sub(before);
    assert!(kept < 64 * 1024, "{kept} KiB are still resident, though nobody is alive");
}
