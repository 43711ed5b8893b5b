//! Every operation can be printed: recorded as text, or written to standard error by switching
//! tracing on for a thread or, with an environment variable, for the whole process.

use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(not(leno_baton))]
use crate::support::{OnDrop, message, rerun_without_stderr};
use crate::support::{plays, rerun, rerun_with};
#[cfg(not(leno_baton))]
use leno_coroutine::ring;
use leno_coroutine::{Builder, Coroutine, Suspender, trace};

fn named(name: &'static str) -> Coroutine<u8, u8, u8> {
    let body = |co: &Suspender<u8, u8>, n: u8| {
        assert_ne!(n, 13, "an unlucky number");
        co.suspend(n)
    };
    Builder::new().name(name).coroutine(body).expect("there is memory")
}

#[test]
fn s42_operations_on_an_asymmetric_coroutine() {
    let (result, text) = trace::record(|| {
        let a = named("a");
        a.resume(1);
        a.resume(2).finished()
    });
    assert_eq!(result, Some(2));
    assert_eq!(text, "create 'a'\nresume 'a'\nsuspend 'a'\nresume 'a'\nreturn 'a'\n");
}

#[test]
fn s42_exit_and_panic_are_told_apart() {
    let (_, text) = trace::record(|| {
        named("dropped").resume(1);
        let failing = named("failing");
        catch_unwind(AssertUnwindSafe(|| failing.resume(13))).expect_err("it fails");
    });
    let dropped = "create 'dropped'\nresume 'dropped'\nsuspend 'dropped'\nexit 'dropped'\n";
    let failing = "create 'failing'\nresume 'failing'\npanic 'failing'\n";
    assert_eq!(text, format!("{dropped}{failing}"));
}

#[test]
fn s42_what_happens_outside_is_not_recorded() {
    let before = named("before");
    before.resume(1);
    let (_, text) = trace::record(|| before.resume(2));
    assert_eq!(text, "resume 'before'\nreturn 'before'\n", "but who is alive already is");
    assert!(!trace::is_on());
    let (inner, outer) = trace::record(|| {
        assert!(trace::is_on());
        let (_, inner) = trace::record(|| named("inner"));
        drop(named("outer"));
        inner
    });
    assert_eq!(inner, "create 'inner'\n");
    assert_eq!(outer, "drop 'inner'\ncreate 'outer'\ndrop 'outer'\n");
}

#[test]
fn s42_unnamed_ones_are_shown_by_their_id() {
    let (id, text) = trace::record(|| Coroutine::new(|_: &Suspender<(), ()>, ()| ()).id());
    assert_eq!(text, format!("create #{id}\ndrop #{id}\n"));
}

#[test]
#[cfg(not(leno_baton))]
fn s42_operations_on_a_ring() {
    let (_, text) = trace::record(|| {
        ring::scope(|s| {
            let named = |name| Builder::new().name(name);
            s.spawn_with(named("b"), || ()).expect("there is memory");
            s.spawn_with(named("a"), ring::yield_now).expect("there is memory");
            ring::yield_now();
            ring::yield_now();
        });
    });
    let lines = [
        "spawn 'b'",
        "spawn 'a'",
        "hop to 'a'",
        "hop to 'b'",
        "return 'b'",
        "hop to 'initial'",
        "hop to 'a'",
        "return 'a'",
        "hop to 'initial'",
    ];
    assert_eq!(text, lines.join("\n") + "\n");
}

#[test]
#[cfg(not(leno_baton))]
fn s42_drained_member_exits_and_does_not_panic() {
    let (_, text) = trace::record(|| {
        ring::scope(|s| {
            s.spawn_with(Builder::new().name("m"), ring::yield_now).expect("there is memory");
            ring::yield_now();
            s.spawn_with(Builder::new().name("new"), || ()).expect("there is memory");
        });
    });
    let lines = ["spawn 'm'", "hop to 'm'", "hop to 'initial'", "spawn 'new'", "drop 'new'"];
    let rest = text.strip_prefix(&(lines.join("\n") + "\n"));
    let rest = rest.unwrap_or_else(|| panic!("{text}"));
    assert!(rest.starts_with("exit 'm'\n") && !rest.contains("panic"), "{rest}");
}

#[test]
#[cfg(not(leno_baton))]
fn s42_nested_operations_in_their_order() {
    let (_, text) = trace::record(|| {
        let body = |_: &Suspender<(), ()>, ()| named("inner").resume(1).suspended();
        let outer = Builder::new().name("outer").coroutine(body).expect("there is memory");
        assert_eq!(outer.resume(()).finished(), Some(Some(1)));
    });
    let lines = [
        "create 'outer'",
        "resume 'outer'",
        "create 'inner'",
        "resume 'inner'",
        "suspend 'inner'",
        "exit 'inner'",
        "return 'outer'",
    ];
    assert_eq!(text, lines.join("\n") + "\n");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s42_start_and_stop_print_to_standard_error() {
    const TEST: &str = concat!(module_path!(), "::s42_start_and_stop_print_to_standard_error");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.passed().said("leno: create 'seen'\nleno: resume 'seen'\nleno: suspend 'seen'\n");
        child.never_said("'before'").said("leno: resume 'known'").never_said("'after'");
        return;
    }
    let known = named("known");
    drop(named("before"));
    trace::start();
    let seen = named("seen");
    seen.resume(1);
    known.resume(1);
    trace::stop();
    let after = named("after");
    after.resume(1);
    seen.resume(2);
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s42_environment_variable_traces_all_threads() {
    const TEST: &str = concat!(module_path!(), "::s42_environment_variable_traces_all_threads");
    if !plays(TEST) {
        let on = rerun_with(TEST, "LENO_TRACE", "1");
        on.passed().said("leno: create 'main'").said("leno: return 'other'");
        rerun_with(TEST, "LENO_TRACE", "0").passed().never_said("leno:");
        return;
    }
    named("main").resume(1);
    let other = std::thread::spawn(|| {
        let other = named("other");
        other.resume(1);
        other.resume(2).finished()
    });
    assert_eq!(other.join().unwrap(), Some(2));
}

/// Lines that cannot be written are lost, and nothing else.
#[test]
#[cfg(not(leno_baton))]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_standard_error_that_fails_changes_nothing() {
    const TEST: &str = concat!(module_path!(), "::a_standard_error_that_fails_changes_nothing");
    if !plays(TEST) {
        rerun_without_stderr(TEST).passed();
        return;
    }
    let turns = std::cell::RefCell::new(Vec::new());
    trace::start();
    ring::scope(|s| {
        let turns = &turns;
        for member in 0..3 {
            s.spawn(move || {
                for turn in 0..2 {
                    turns.borrow_mut().push((turn, member));
                    ring::yield_now();
                }
            });
        }
        ring::run();
        s.spawn(ring::yield_now);
        ring::yield_now();
    });
    assert_eq!(*turns.borrow(), [(0, 2), (0, 1), (0, 0), (1, 2), (1, 1), (1, 0)]);
    let coroutine = named("seen");
    assert_eq!(coroutine.resume(1).suspended(), Some(1));
    assert_eq!(coroutine.resume(2).finished(), Some(2));
    named("dropped").resume(1);
    // A line that is not of a trace: of a panic that goes no further.
    let panic = catch_unwind(|| {
        let captured = OnDrop(|| panic!("of a captured value"));
        let _held = Coroutine::<(), ()>::new(move |_, ()| drop(captured));
        panic!("the first one");
    });
    assert_eq!(message(&*panic.expect_err("it goes on")), "the first one");
    trace::stop();
}
