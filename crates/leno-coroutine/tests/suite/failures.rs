//! Panics that nobody waits for come up all the same: of members that failed, and of coroutines
//! that are dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Log, OnDrop, message, plays, rerun};
use leno_coroutine::{Builder, Coroutine, Suspender, ring, scope};

/// The text of the panic that `f` ends with.
#[track_caller]
fn panic_of(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    message(&*panic).to_owned()
}

#[test]
fn s14_scope_raises_the_first_failure_that_nobody_took() {
    let log = Log::new();
    let text = panic_of(|| {
        ring::scope(|s| {
            s.spawn(|| {
                let _guard = log.on_drop("ended");
                ring::yield_now();
            });
            s.spawn(|| panic!("second"));
            s.spawn(|| std::panic::panic_any(String::from("first")));
            ring::yield_now();
            7
        });
    });
    assert_eq!((text.as_str(), log.text().as_str()), ("first", "ended"));
}

#[test]
fn scope_raises_nothing_that_was_taken() {
    let taken = ring::scope(|s| {
        s.spawn(|| panic!("taken"));
        ring::run();
        ring::failures().unwrap().len()
    });
    assert_eq!(taken, 1);
}

#[test]
fn scope_prefers_the_panic_of_its_closure() {
    let text = panic_of(|| {
        ring::scope(|s| {
            s.spawn(|| panic!("of a member"));
            ring::run();
            panic!("of the closure");
        });
    });
    assert_eq!(text, "of the closure");
}

#[test]
fn failure_while_the_scope_ends_is_raised_too() {
    let text = panic_of(|| {
        ring::scope(|s| {
            s.spawn(|| {
                let _exit = catch_unwind(ring::yield_now).expect_err("it is ended here");
                panic!("instead");
            });
            ring::yield_now();
        });
    });
    assert_eq!(text, "instead");
}

#[test]
fn failure_goes_out_through_every_scope() {
    let inner = || {
        ring::scope(|s| {
            s.spawn(|| panic!("innermost"));
            ring::run();
        });
    };
    let text = panic_of(|| {
        ring::scope(|s| {
            s.spawn(inner);
            ring::run();
        });
    });
    assert_eq!(text, "innermost");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn failure_in_a_scope_of_unwinding_code_is_said() {
    const TEST: &str = concat!(module_path!(), "::failure_in_a_scope_of_unwinding_code_is_said");
    if !plays(TEST) {
        rerun(TEST).passed().said("a member panicked in a ring's scope of code that was itself");
        return;
    }
    let text = panic_of(|| {
        let _guard = OnDrop(|| {
            ring::scope(|s| {
                s.spawn(|| panic!("of a member"));
                ring::run();
            });
        });
        panic!("outside");
    });
    assert_eq!(text, "outside");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn failures_nobody_took_are_said_when_the_thread_ends() {
    const TEST: &str =
        concat!(module_path!(), "::failures_nobody_took_are_said_when_the_thread_ends");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.passed().said(
            "leno: thread 'careless' ended with a failure of its ring that ring::failures has not \
             taken: member 'bad' panicked with \"on purpose\" (and 1 more)\n",
        );
        child.never_said("'careful' ended").never_said("alive");
        return;
    }
    for name in ["careless", "careful"] {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            Builder::new().name("bad").spawn(|| panic!("on purpose")).unwrap();
            ring::run();
            ring::spawn(|| panic!("once more"));
            ring::run();
            if name == "careful" {
                assert_eq!(ring::failures().unwrap().len(), 2);
            }
        });
        thread.unwrap().join().unwrap();
    }
}

#[test]
fn panic_of_what_was_captured_reaches_whoever_drops_the_coroutine() {
    let explosive = OnDrop(|| panic!("of a captured value"));
    let unstarted = Coroutine::new(move |_: &Suspender<(), ()>, ()| drop(explosive));
    let status = unstarted.status();
    assert_eq!(panic_of(|| drop(unstarted)), "of a captured value");
    assert!(status.is_finished());
}

/// A body that panics when it is dropped, having caught its exit.
fn panics_instead(co: &Suspender<(), ()>, (): ()) {
    catch_unwind(AssertUnwindSafe(|| co.suspend(()))).expect_err("it is dropped here");
    panic!("instead");
}

#[test]
fn panic_instead_of_exit_reaches_whoever_drops_the_coroutine() {
    let co = Coroutine::new(panics_instead);
    co.resume(());
    assert_eq!(panic_of(|| drop(co)), "instead");
    let text = panic_of(|| {
        scope(|s| {
            let child = s.coroutine(panics_instead);
            child.resume(());
            drop(child);
        });
    });
    assert_eq!(text, "instead");
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn panics_of_shared_coroutines_and_migrants_reach_whoever_drops_them() {
    let stacks = leno_coroutine::shared::Stacks::new(1);
    // SAFETY: nothing refers to its frames.
    let shared = unsafe { stacks.coroutine(panics_instead) }.unwrap();
    shared.resume(());
    assert_eq!(panic_of(|| drop(shared)), "instead");
    let explosive = OnDrop(|| panic!("of a captured value"));
    let body = move |_: &Suspender<(), ()>, ()| drop(explosive);
    // SAFETY: as above.
    let shared = unsafe { stacks.coroutine(body) }.unwrap();
    assert_eq!(panic_of(|| drop(shared)), "of a captured value");
    // SAFETY: it keeps nothing across its suspensions.
    let migrant = unsafe { Builder::new().migratable(panics_instead) }.unwrap();
    migrant.resume(());
    assert_eq!(panic_of(|| drop(migrant)), "instead");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn panic_while_dropped_by_unwinding_code_is_said() {
    const TEST: &str = concat!(module_path!(), "::panic_while_dropped_by_unwinding_code_is_said");
    if !plays(TEST) {
        let said = "leno: coroutine 'bomb' panicked while it was dropped by code that was itself";
        rerun(TEST).passed().said(said);
        return;
    }
    let text = panic_of(|| {
        let bomb = Builder::new().name("bomb").coroutine(panics_instead).unwrap();
        bomb.resume(());
        panic!("outside");
    });
    assert_eq!(text, "outside");
}

fn refuse(co: &Suspender<(), ()>, (): ()) {
    loop {
        let _ = catch_unwind(AssertUnwindSafe(|| co.suspend(())));
    }
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn child_that_refuses_to_end_is_one_message() {
    const TEST: &str = concat!(module_path!(), "::child_that_refuses_to_end_is_one_message");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.aborted().said("leno: coroutine 'stubborn' (created at ");
        child.said("went on: aborting, because it may borrow from the scope\n");
        child.never_said("leaked");
        return;
    }
    scope(|s| {
        let child = s.coroutine_with(Builder::new().name("stubborn"), refuse).unwrap();
        child.resume(());
    });
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn member_that_refuses_to_end_is_one_message() {
    const TEST: &str = concat!(module_path!(), "::member_that_refuses_to_end_is_one_message");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.aborted().said("leno: member 'stubborn' (created at ");
        child.said("went on: aborting, because it may borrow from the scope\n");
        return;
    }
    ring::scope(|s| {
        let body = || loop {
            let _ = catch_unwind(ring::yield_now);
        };
        s.spawn_with(Builder::new().name("stubborn"), body).unwrap();
        ring::yield_now();
    });
}

/// A panic finishes the coroutine; nothing broken is left to be seen through a handle.
#[test]
fn handles_may_cross_catch_unwind() {
    fn fails(_: &Suspender<(), ()>, (): ()) {
        panic!("on purpose");
    }
    let co = Coroutine::new(fails);
    assert!(catch_unwind(|| co.resume(())).is_err());
    assert!(co.is_finished());
    assert!(catch_unwind(|| co.iter().next()).unwrap().is_none());
    scope(|s| {
        let child = s.coroutine(fails);
        assert!(catch_unwind(|| child.resume(())).is_err());
        assert!(catch_unwind(|| s.coroutine(fails).resume(())).is_err());
    });
    let member = ring::spawn(ring::yield_now);
    assert_eq!(catch_unwind(|| member.join()).unwrap(), Ok(()));
    ring::scope(|s| assert!(catch_unwind(|| s.spawn(|| ())).is_ok()));
    let body = |co: &Suspender<(), u32>, ()| catch_unwind(|| co.suspend(1)).is_err();
    assert_eq!(Coroutine::new(body).resume(()).suspended(), Some(1));
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn handles_of_shared_coroutines_and_migrants_may_cross_catch_unwind() {
    fn fails(_: &Suspender<(), ()>, (): ()) {
        panic!("on purpose");
    }
    let stacks = leno_coroutine::shared::Stacks::new(1);
    // SAFETY: nothing refers to its frames.
    let shared = catch_unwind(|| unsafe { stacks.coroutine(fails) }.unwrap()).unwrap();
    assert!(catch_unwind(|| shared.resume(())).is_err());
    // SAFETY: it does not suspend.
    let migrant = unsafe { Builder::new().migratable(fails) }.unwrap();
    assert!(catch_unwind(|| migrant.resume(())).is_err());
    assert!(shared.is_finished() && migrant.is_finished());
    // SAFETY: as above.
    let member = unsafe { Builder::new().spawn_migratable(|| ()) }.unwrap();
    assert_eq!(catch_unwind(|| member.member().join()).unwrap(), Ok(()));
}
