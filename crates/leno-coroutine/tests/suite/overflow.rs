//! A coroutine that overflows its stack ends the process with a message that names it, instead of
//! corrupting a neighbour; other faults and other stacks are reported as ever. Each case is a
//! process of its own. The baton backend has OS threads' stacks and no such message.
// Sanitizers have memory and signal handlers of their own.
#![cfg(not(any(leno_baton, leno_asan, leno_tsan)))]

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Child, Log, message, plays, rerun, rerun_with};
use leno_coroutine::{Builder, Coroutine, Suspender, check_stack, ring, stack_left};

/// Recurses until the stack is full.
#[allow(unconditional_recursion, reason = "an overflow is what is wanted")]
fn recurse(n: u64) -> u64 {
    let frame = black_box([n; 16]);
    recurse(n + 1) + frame[3]
}

fn run(name: &'static str, body: impl FnOnce() + 'static) {
    let body = |_: &Suspender<(), ()>, ()| body();
    let coroutine = Builder::new().name(name).coroutine(body).expect("there is memory");
    coroutine.resume(());
}

/// Asserts that the child's coroutine was reported to have overflowed.
#[track_caller]
fn reported(child: &Child, who: &str, kibibytes: usize) {
    child.aborted().said(&format!("leno: {who} (id "));
    child.said(&format!(") has overflowed its stack of {kibibytes} KiB; created at "));
    child.said(&format!("{}:", file!())).said("give it a larger stack_size, or call check_stack");
    child.never_said("not reached").never_said("has overflowed its stack\n");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s31_recursion_in_a_64_kib_coroutine() {
    const TEST: &str = concat!(module_path!(), "::s31_recursion_in_a_64_kib_coroutine");
    if !plays(TEST) {
        return reported(&rerun(TEST), "coroutine 'deep'", 64);
    }
    run("deep", || eprintln!("not reached {}", recurse(0)));
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s31_recursion_with_protected_guards() {
    const TEST: &str = concat!(module_path!(), "::s31_recursion_with_protected_guards");
    if !plays(TEST) {
        return reported(&rerun_with(TEST, "LENO_GUARDS", "mprotect"), "coroutine 'deep'", 64);
    }
    run("deep", || eprintln!("not reached {}", recurse(0)));
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s31_frame_of_a_mebibyte() {
    const TEST: &str = concat!(module_path!(), "::s31_frame_of_a_mebibyte");
    #[inline(never)]
    fn large_frame() -> u8 {
        let frame = black_box([1_u8; 1 << 20]);
        frame[black_box(12_345)]
    }
    if !plays(TEST) {
        return reported(&rerun(TEST), "coroutine 'wide'", 64);
    }
    // Its neighbours' stacks are next to its own.
    let neighbours: Vec<Coroutine<(), ()>> =
        (0..20).map(|_| Coroutine::new(|co: &Suspender<(), ()>, ()| co.suspend(()))).collect();
    neighbours.iter().for_each(|neighbour| assert!(!neighbour.resume(()).is_finished()));
    run("wide", || eprintln!("not reached {}", large_frame()));
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s31_overflow_of_a_ring_member() {
    const TEST: &str = concat!(module_path!(), "::s31_overflow_of_a_ring_member");
    if !plays(TEST) {
        return reported(&rerun(TEST), "member 'member'", 32);
    }
    let builder = Builder::new().name("member").stack_size(32 * 1024);
    builder.spawn(|| eprintln!("not reached {}", recurse(0))).expect("there is memory");
    ring::yield_now();
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s31_overflow_on_another_thread_and_further_in() {
    const TEST: &str = concat!(module_path!(), "::s31_overflow_on_another_thread_and_further_in");
    if !plays(TEST) {
        return reported(&rerun(TEST), "coroutine 'inner'", 64);
    }
    let thread = std::thread::spawn(|| {
        run("outer", || run("inner", || eprintln!("not reached {}", recurse(0))));
    });
    thread.join().expect("the process ends first");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s31_unnamed_coroutine_is_reported_by_id_and_place() {
    const TEST: &str =
        concat!(module_path!(), "::s31_unnamed_coroutine_is_reported_by_id_and_place");
    if !plays(TEST) {
        let child = rerun(TEST);
        let id = child.stderr.lines().find_map(|line| line.strip_prefix("its id is "));
        let id = id.unwrap_or_else(|| panic!("{child:#?}"));
        child.aborted().said(&format!("leno: coroutine #{id} has overflowed its stack"));
        child.said(&format!("created at {}:", file!()));
        return;
    }
    let coroutine = Coroutine::new(|_: &Suspender<(), u64>, ()| recurse(0));
    eprintln!("its id is {}", coroutine.id());
    coroutine.resume(());
}

/// Printing a backtrace needs more stack than the smallest coroutine has.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s31_overflow_by_a_panic_says_so() {
    const TEST: &str = concat!(module_path!(), "::s31_overflow_by_a_panic_says_so");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.aborted().said("leno: coroutine 'small' (id ");
        child.said("has overflowed its stack of 16 KiB while it panicked (a backtrace alone needs");
        return;
    }
    std::panic::set_hook(Box::new(|_| eprintln!("not reached {}", recurse(0))));
    let small = Builder::new().name("small").stack_size(16 * 1024);
    let small = small.coroutine(|_: &Suspender<(), ()>, ()| panic!("on purpose"));
    let _: leno_coroutine::Step<(), ()> = small.expect("there is memory").resume(());
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn other_faults_in_a_coroutine_go_to_the_handler_before() {
    const TEST: &str =
        concat!(module_path!(), "::other_faults_in_a_coroutine_go_to_the_handler_before");
    const SIGSEGV: i32 = 11;
    if !plays(TEST) {
        let child = rerun(TEST);
        assert_eq!(child.signal, Some(SIGSEGV), "{child:#?}");
        child.never_said("overflowed").never_said("leno:").never_said("not reached");
        return;
    }
    run("wild", || {
        let nowhere = std::ptr::without_provenance::<u8>(8);
        // SAFETY: none: the first page is never mapped, and the fault is what is looked at.
        let byte = unsafe { black_box(nowhere).read_volatile() };
        eprintln!("not reached {byte}");
    });
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn overflow_of_a_plain_thread_is_reported_by_std() {
    const TEST: &str = concat!(module_path!(), "::overflow_of_a_plain_thread_is_reported_by_std");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.aborted().said("thread 'plain' ").said("has overflowed its stack\n");
        child.never_said("leno:").never_said("not reached");
        return;
    }
    let plain = std::thread::Builder::new().name("plain".into()).stack_size(128 * 1024);
    let thread = plain.spawn(|| {
        run("harmless", || ());
        eprintln!("not reached {}", recurse(0));
    });
    thread.expect("a thread").join().expect("the process ends first");
}

/// Recurses with a question before each step.
#[allow(unconditional_recursion, reason = "the question ends it")]
fn recurse_with_care(n: u64, log: &Log) -> u64 {
    check_stack(32 * 1024);
    let _guard = (n < 3).then(|| log.on_drop(["a", "b", "c"][n as usize]));
    recurse_with_care(n + 1, log) + black_box([n; 16])[3]
}

#[test]
fn s31_check_stack_panics_cleanly_inside_a_coroutine() {
    let log = Log::new();
    let inner = log.clone();
    let body = move |_: &Suspender<(), ()>, ()| recurse_with_care(0, &inner);
    let careful = Builder::new().name("careful").coroutine(body).expect("there is memory");
    let panic = catch_unwind(AssertUnwindSafe(|| careful.resume(()))).expect_err("it fails");
    let text = message(&*panic);
    assert!(
        text.starts_with("check_stack: 32768 bytes of stack asked for, coroutine 'careful' has ")
    );
    assert_eq!(log.text(), "cba", "destructors ran");
    assert!(careful.is_finished());
}

#[test]
fn check_stack_works_on_a_plain_thread_too() {
    let panic = catch_unwind(|| recurse_with_care(3, &Log::new())).expect_err("it fails");
    let text = message(&*panic);
    assert!(text.starts_with("check_stack: 32768 bytes of stack asked for, this thread has "));
    check_stack(1024);
}

#[test]
fn stack_left_tells_the_room_of_the_running_stack() {
    let left = |size| {
        let body = |_: &Suspender<(), ()>, ()| stack_left();
        let coroutine = Builder::new().stack_size(size).coroutine(body).expect("there is memory");
        coroutine.resume(()).finished().flatten().expect("leno's own stack")
    };
    for size in [16 * 1024, 64 * 1024, 1 << 20] {
        let room = size - 8 * 1024..size + 8 * 1024;
        assert!(room.contains(&left(size)), "{} of {size}", left(size));
    }
}
