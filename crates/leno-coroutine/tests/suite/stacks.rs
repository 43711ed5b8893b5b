//! Stacks come from the system, in sizes that are a wish with a minimum; running out of them is a
//! clean error. Under the baton backend coroutines have OS threads' stacks, so none of this holds.
// Under thread sanitizer tens of thousands of coroutines take for ever.
#![cfg(not(any(leno_baton, leno_tsan)))]

use std::hint::black_box;

use crate::support::{plays, rerun, rerun_with, rerun_within};
use leno_coroutine::{Builder, Coroutine, Guards, StackError, Step, Suspender, list, ring};
use leno_coroutine::{stack_figures, stack_left};

/// Fills the running stack up to its last 8 KiB; the bytes that were left before.
#[inline(never)]
fn fill() -> usize {
    let left = stack_left().expect("leno's own stack");
    if left > 8 * 1024 {
        black_box(fill());
    }
    left
}

#[test]
fn s29_tiny_requests_get_the_minimum() {
    for asked in [0, 1, 4096, 16 * 1024] {
        let body = |co: &Suspender<(), usize>, ()| co.suspend(fill());
        let small = Builder::new().stack_size(asked).coroutine(body).expect("a wish, not an order");
        assert!(small.resume(()).suspended().is_some_and(|room| room > 12 * 1024));
        let listed = list::coroutines().into_iter().find(|info| info.id == small.id());
        assert_eq!(listed.map(|info| info.stack_size), Some(16 * 1024));
    }
    let member = Builder::new().stack_size(1).spawn(|| assert!(fill() > 12 * 1024));
    ring::yield_now();
    assert!(member.expect("a wish, not an order").is_finished());
}

#[test]
fn s29_larger_requests_are_met() {
    for (asked, given) in [(16 * 1024 + 1, 32), (100_000, 128), (1 << 20, 1024), (5 << 20, 8192)] {
        let body = |co: &Suspender<(), usize>, ()| co.suspend(fill());
        let large = Builder::new().stack_size(asked).coroutine(body).expect("there is memory");
        assert!(large.resume(()).suspended().is_some_and(|room| room > asked - 4 * 1024));
        let listed = list::coroutines().into_iter().find(|info| info.id == large.id());
        assert_eq!(listed.map(|info| info.stack_size / 1024), Some(given));
    }
}

#[test]
fn largest_stack_can_be_asked_for_and_costs_what_is_touched() {
    let body = |co: &Suspender<(), ()>, ()| co.suspend(());
    match Builder::new().stack_size(1 << 30).coroutine(body) {
        Ok(huge) => assert_eq!(huge.resume(()), Step::Suspended(())),
        // Where address space is limited.
        Err(error) => assert!(error.to_string().contains("no memory for a stack of 1073741824")),
    }
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn bodies_larger_than_the_stack_asked_for() {
    const TEST: &str = concat!(module_path!(), "::bodies_larger_than_the_stack_asked_for");
    fn holding<const N: usize>() {
        let array = [7_u8; N];
        let coroutine = Coroutine::new(move |co: &Suspender<(), usize>, ()| {
            co.suspend(array.iter().map(|byte| usize::from(*byte)).sum());
            fill()
        });
        assert_eq!(coroutine.resume(()), Step::Suspended(7 * N));
        let room = coroutine.resume(()).finished();
        assert!(room.is_some_and(|room| room > 32 * 1024), "{room:?} left beside {N} bytes");
    }
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    // A debug build moves such bodies through the creator's frames as well.
    let roomy = std::thread::Builder::new().stack_size(32 << 20).spawn(|| {
        holding::<1_000>();
        holding::<20_000>();
        holding::<60_000>();
        holding::<120_000>();
        holding::<500_000>();
    });
    roomy.expect("a thread").join().expect("all of them fit");
}

#[test]
fn aligned_values_are_aligned_on_every_stack() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct Aligned(u8);
    fn is_aligned(value: &Aligned) -> bool {
        std::ptr::from_ref(black_box(value)).addr().is_multiple_of(64)
    }
    for n in 0..40 {
        let captured = Aligned(n);
        let coroutine = Coroutine::new(move |co: &Suspender<Aligned, Aligned>, first: Aligned| {
            let local = Aligned(n);
            assert!(is_aligned(&captured) && is_aligned(&first) && is_aligned(&local));
            let second = co.suspend(captured);
            assert!(is_aligned(&second));
            Aligned(first.0 + second.0)
        });
        assert_eq!(coroutine.resume(Aligned(1)), Step::Suspended(Aligned(n)));
        assert_eq!(coroutine.resume(Aligned(2)), Step::Finished(Aligned(3)));
    }
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s43_nothing_is_reserved_before_the_first_coroutine() {
    const TEST: &str =
        concat!(module_path!(), "::s43_nothing_is_reserved_before_the_first_coroutine");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    ring::yield_now();
    let before = stack_figures();
    assert_eq!((before.slabs, before.reserved, before.live), (0, 0, 0));
    let coroutine = Coroutine::new(|co: &Suspender<(), ()>, ()| co.suspend(()));
    coroutine.resume(());
    let after = stack_figures();
    assert_eq!((after.slabs, after.live, after.high_water), (1, 1, 1));
    assert!(after.reserved >= 64 * 1024);
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn stacks_are_used_again_also_by_other_threads() {
    const TEST: &str = concat!(module_path!(), "::stacks_are_used_again_also_by_other_threads");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    let hundred = || {
        let body = |co: &Suspender<(), ()>, ()| co.suspend(());
        let all: Vec<Coroutine<(), ()>> = (0..100).map(|_| Coroutine::new(body)).collect();
        all.iter().for_each(|coroutine| assert!(!coroutine.resume(()).is_finished()));
        assert_eq!(stack_figures().live, 100);
    };
    for _ in 0..20 {
        std::thread::spawn(hundred).join().unwrap();
    }
    let figures = stack_figures();
    assert_eq!((figures.live, figures.pooled, figures.high_water), (0, 100, 100));
}

/// Creates coroutines until there is no address space for another one.
#[test]
#[cfg_attr(
    any(leno_asan, leno_tsan),
    ignore = "sanitizers reserve more address space than is left"
)]
#[cfg_attr(miri, ignore = "spawns a process")]
fn out_of_memory_is_an_error_and_the_rest_still_works() {
    const TEST: &str =
        concat!(module_path!(), "::out_of_memory_is_an_error_and_the_rest_still_works");
    if !plays(TEST) {
        rerun_within(TEST, 512 * 1024).passed();
        return;
    }
    let mut all: Vec<Coroutine<u32, u32, u32>> = Vec::with_capacity(10_000);
    let error = loop {
        let builder = Builder::new().stack_size(1 << 20);
        match builder.coroutine(|co: &Suspender<u32, u32>, n| co.suspend(n + 1)) {
            Ok(coroutine) => {
                assert_eq!(coroutine.resume(1), Step::Suspended(2));
                all.push(coroutine);
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error.stack_error(), StackError::OutOfMemory { size: 1_048_576, .. }));
    assert!(error.to_string().contains("): no memory for a stack of 1048576 bytes: "), "{error}");
    assert!(all.len() > 100, "only {} fitted", all.len());
    assert!(all.iter().all(|coroutine| coroutine.resume(5) == Step::Finished(5)));
    let again = Builder::new().stack_size(1 << 20).coroutine(|_: &Suspender<u32, u32>, n| n);
    assert_eq!(again.expect("stacks are free again").resume(3), Step::Finished(3));
}

/// With guards that split mappings, the system's limit on mappings is reached first.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn out_of_guards_is_an_error_and_the_rest_still_works() {
    const TEST: &str =
        concat!(module_path!(), "::out_of_guards_is_an_error_and_the_rest_still_works");
    if !plays(TEST) {
        rerun_with(TEST, "LENO_GUARDS", "mprotect").passed();
        return;
    }
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("Linux has it");
    let limit: usize = limit.trim().parse().expect("a number");
    let body = |co: &Suspender<u32, u32>, n| co.suspend(n + 1);
    let make = || Builder::new().stack_size(16 * 1024).coroutine(body);
    let mut all: Vec<Coroutine<u32, u32, u32>> = vec![make().expect("the first one")];
    assert_eq!(stack_figures().guards, Guards::Protected);
    let error = loop {
        match make() {
            Ok(coroutine) if all.len() < 40_000 => all.push(coroutine),
            Ok(_) => break None,
            Err(error) => break Some(error),
        }
    };
    match &error {
        Some(error) => assert_eq!(
            error.stack_error().to_string(),
            format!(
                "no more guard pages: made with mprotect (before Linux 6.13, or because \
                 LENO_GUARDS says so) each takes two mappings, and vm.max_map_count is {limit}; \
                 raise the limit or use fewer stacks"
            )
        ),
        None => assert!(limit > 80_000, "{} coroutines with {limit} maps", all.len()),
    }
    let (first, last) = (&all[0], &all[all.len() - 1]);
    assert_eq!([first.resume(1), last.resume(2)], [Step::Suspended(2), Step::Suspended(3)]);
    all.truncate(10);
    assert_eq!(make().expect("stacks are free again").resume(7), Step::Suspended(8));
    std::thread::spawn(|| ()).join().expect("mappings are left for others");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
#[cfg_attr(leno_asan, ignore = "its shadow needs more address space than that")]
fn stacks_leave_the_process_address_space_to_say_that_there_is_none() {
    const TEST: &str = concat!(
        module_path!(),
        "::stacks_leave_the_process_address_space_to_say_that_there_is_none"
    );
    if !plays(TEST) {
        rerun_within(TEST, 512 * 1024).passed();
        return;
    }
    let body = |co: &Suspender<(), ()>, ()| co.suspend(());
    let mut all = Vec::with_capacity(16_384);
    let error = loop {
        match Builder::new().coroutine(body) {
            Ok(coroutine) => all.push(coroutine),
            Err(error) => break error,
        }
    };
    assert!(all.len() > 1000, "{} stacks: {error}", all.len());
    assert!(error.to_string().contains("are left to the rest of the process"), "{error}");
    // As a table of those above that grows, or a thread that is started to tell somebody.
    let table = vec![1_u8; 16 << 20];
    assert!(table.iter().all(|byte| *byte == 1));
    std::thread::spawn(|| ()).join().expect("a thread");
    all.iter().for_each(|coroutine| assert_eq!(coroutine.resume(()), Step::Suspended(())));
}
