//! Unwinding and coroutines: exit runs destructors, may be caught a few times, and a coroutine
//! whose own stack unwinds cannot suspend, while one used by a destructor can.

use std::any::Any;
use std::cell::Cell;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use crate::support::{Log, OnDrop, message, plays, rerun};
use leno_coroutine::{Builder, Coroutine, Exiting, Step, Suspender, ring, scope};

/// A coroutine that catches its exit `times` times and goes on.
fn catching(times: usize, log: &Log) -> Coroutine<(), u32> {
    let log = log.clone();
    let body = move |co: &Suspender<(), u32>, ()| {
        let _guard = log.on_drop("!");
        for n in 0..times {
            let caught = catch_unwind(AssertUnwindSafe(|| co.suspend(n as u32)));
            log.push(if caught.is_err() { "caught " } else { "resumed " });
        }
        co.suspend(99);
    };
    Builder::new().name("stubborn").coroutine(body).expect("there is memory")
}

#[test]
fn dropping_a_suspended_coroutine_unwinds_it_innermost_first() {
    fn deep(co: &Suspender<(), ()>, log: &Log, level: usize) {
        let _guard = log.on_drop(["outer", "middle ", "inner "][level]);
        if level == 2 { co.suspend(()) } else { deep(co, log, level + 1) }
    }
    let log = Log::new();
    let inner = log.clone();
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| deep(co, &inner, 0));
    coroutine.resume(());
    let status = coroutine.status();
    drop(coroutine);
    assert_eq!((log.text().as_str(), status.is_finished()), ("inner middle outer", true));
}

#[test]
fn dropping_one_that_never_ran_drops_its_body() {
    let log = Log::new();
    let guard = log.on_drop("body");
    drop(Coroutine::new(move |_: &Suspender<(), ()>, ()| drop(guard)));
    assert_eq!(log.text(), "body");
}

#[test]
fn exit_may_be_caught_once_or_seven_times() {
    for times in [1, 7] {
        let log = Log::new();
        let coroutine = catching(times, &log);
        coroutine.resume(());
        drop(coroutine);
        assert_eq!(log.text(), "caught ".repeat(times) + "!", "then it ends");
    }
    let log = Log::new();
    let coroutine = catching(1, &log);
    assert_eq!(coroutine.resume(()), Step::Suspended(0));
    assert_eq!(coroutine.resume(()), Step::Suspended(99));
    drop(coroutine);
    assert_eq!(log.text(), "resumed !", "catching is for exits only");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn exit_caught_eight_times_leaks_the_stack_with_a_report() {
    const TEST: &str =
        concat!(module_path!(), "::exit_caught_eight_times_leaks_the_stack_with_a_report");
    if !plays(TEST) {
        let child = rerun(TEST);
        child
            .passed()
            .said("leno: coroutine 'stubborn' (created at ")
            .said(&format!("{}:", file!()));
        child.said("caught its exit 8 times and went on; its stack is leaked");
        return;
    }
    let log = Log::new();
    let coroutine = catching(8, &log);
    coroutine.resume(());
    drop(coroutine);
    assert_eq!(log.text(), "caught ".repeat(8), "and it is left as it is");
    let other = Coroutine::new(|co: &Suspender<(), ()>, ()| co.suspend(()));
    assert_eq!(other.resume(()), Step::Suspended(()), "others are not harmed");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn exit_caught_eight_times_in_a_scope_aborts() {
    const TEST: &str = concat!(module_path!(), "::exit_caught_eight_times_in_a_scope_aborts");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.aborted().said("leno: coroutine 'borrower' (created at ").never_said("not reached");
        child.said("caught its exit 8 times and went on");
        return;
    }
    let lent = Cell::new(0);
    scope(|s| {
        let body = |co: &Suspender<(), ()>, ()| {
            loop {
                lent.set(lent.get() + 1);
                let _ = catch_unwind(AssertUnwindSafe(|| co.suspend(())));
            }
        };
        let child = s.coroutine_with(Builder::new().name("borrower"), body);
        let _: Step<(), ()> = child.expect("there is memory").resume(());
    });
    eprintln!("not reached");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn exit_caught_eight_times_in_a_ring_leaks_or_aborts() {
    const TEST: &str =
        concat!(module_path!(), "::exit_caught_eight_times_in_a_ring_leaks_or_aborts");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.aborted().said("'static' (created at ").said("and went on; its stack is leaked");
        child.said("drained (0, 1)").said("'scoped' (created at ").never_said("not reached");
        return;
    }
    fn stubborn() {
        loop {
            let _ = catch_unwind(ring::yield_now);
        }
    }
    Builder::new().name("static").spawn(stubborn).unwrap();
    ring::yield_now();
    let drained = ring::drain().unwrap();
    eprintln!("drained {:?}", (drained.ended, drained.leaked));
    ring::scope(|s| {
        s.spawn_with(Builder::new().name("scoped"), stubborn).unwrap();
        ring::yield_now();
    });
    eprintln!("not reached");
}

/// The leaked one is neither finished nor in the ring: naming it is an error, not a panic.
#[test]
#[cfg_attr(miri, ignore = "leaves a coroutine and its memory behind, as it should")]
fn yield_to_a_member_that_refused_its_exit_is_an_error() {
    let refusing = ring::spawn(|| {
        loop {
            let _ = catch_unwind(ring::yield_now);
        }
    });
    ring::yield_now();
    assert_eq!(ring::drain().unwrap().leaked, 1);
    let refused = catch_unwind(AssertUnwindSafe(|| ring::yield_to(&refusing)));
    assert!(matches!(refused, Ok(Err(_))), "{:?}", refused.map_err(|p| message(&*p).to_owned()));
}

#[test]
fn generator_used_in_a_destructor_during_unwinding() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _guard = OnDrop(|| {
            assert!(std::thread::panicking());
            let squares = Coroutine::new(|co: &Suspender<(), u32>, ()| {
                (1..=4).for_each(|n| co.suspend(n * n));
            });
            squares.iter().for_each(|n| log.push(format!("{n} ")));
            ring::scope(|s| {
                s.spawn(|| log.push("2 "));
                log.push("1 ");
                ring::yield_now();
                log.push("3");
            });
        });
        panic!("of the frame");
    }));
    assert_eq!(message(&*panic.expect_err("it goes on")), "of the frame");
    assert_eq!(log.text(), "1 4 9 16 1 2 3");
}

#[test]
fn generator_begun_in_a_destructor_goes_on_afterwards() {
    let made = Cell::new(None);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _guard = OnDrop(|| {
            let counter = Coroutine::new(|co: &Suspender<(), bool>, ()| {
                (0..3).for_each(|_| co.suspend(std::thread::panicking()));
            });
            counter.resume(());
            made.set(Some(counter));
        });
        panic!("of the frame");
    }));
    assert!(panic.is_err());
    let counter = made.take().expect("the destructor ran");
    assert_eq!(counter.iter().collect::<Vec<_>>(), [false, false]);
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn suspend_in_a_destructor_during_its_own_unwinding_aborts() {
    const TEST: &str =
        concat!(module_path!(), "::suspend_in_a_destructor_during_its_own_unwinding_aborts");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.aborted().said("leno: coroutine 'clinging' (created at ").never_said("not reached");
        child.said("tried to suspend while its own stack unwinds").said("use `try_suspend`");
        return;
    }
    let body = |co: &Suspender<(), ()>, ()| {
        let _guard = OnDrop(|| co.suspend(()));
        co.suspend(());
    };
    let coroutine = Builder::new().name("clinging").coroutine(body).expect("there is memory");
    coroutine.resume(());
    drop(coroutine);
    eprintln!("not reached");
}

/// What `try_suspend` said.
type Said = Rc<Cell<Option<Result<(), Exiting<u8>>>>>;

/// A coroutine whose destructor notes what `try_suspend` says while the stack unwinds.
fn trying(said: &Said) -> Coroutine<bool, u8> {
    let said = said.clone();
    Coroutine::new(move |co: &Suspender<bool, u8>, _| {
        let _guard = OnDrop(|| said.set(Some(co.try_suspend(7).map(drop))));
        assert!(!co.suspend(1), "asked to fail");
    })
}

#[test]
fn try_suspend_during_its_own_unwinding_gives_the_value_back() {
    let said = Said::default();
    let dropped = trying(&said);
    dropped.resume(false);
    drop(dropped);
    assert_eq!(said.take(), Some(Err(Exiting(7))), "by exit");
    let failing = trying(&said);
    failing.resume(false);
    assert!(catch_unwind(AssertUnwindSafe(|| failing.resume(true))).is_err());
    assert_eq!(said.take(), Some(Err(Exiting(7))), "by a panic");
    assert_eq!(Exiting(7).to_string(), "a coroutine whose own stack unwinds cannot suspend");
    let fine = Coroutine::new(|co: &Suspender<u8, u8>, n| co.try_suspend(n));
    assert_eq!(fine.resume(3), Step::Suspended(3));
    assert_eq!(fine.resume(4), Step::Finished(Ok(4)));
}

/// The exit of a generator that was dropped, which nobody is inside of any more.
fn foreign_exit() -> Box<dyn Any + Send> {
    let caught = Rc::new(Cell::new(None));
    let keeps = caught.clone();
    let generator = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        keeps.set(catch_unwind(AssertUnwindSafe(|| co.suspend(()))).err());
    });
    generator.resume(());
    drop(generator);
    caught.take().expect("it was made to exit")
}

/// Calls `f` in a coroutine, where exits are told from panics.
fn inside(f: impl FnOnce() + 'static) {
    Coroutine::new(move |_: &Suspender<(), ()>, ()| f()).resume(());
}

#[test]
fn a_foreign_exit_does_not_take_the_place_of_the_panic_before_it() {
    inside(|| {
        let exit = foreign_exit();
        let raised = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                let mut exit = Some(exit);
                let guard = OnDrop(move || resume_unwind(exit.take().expect("dropped once")));
                // The scope ends it.
                forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(guard)));
                panic!("the scope's own");
            });
        }));
        assert_eq!(message(&*raised.expect_err("it panics")), "the scope's own");
    });
}

#[test]
fn the_own_exit_goes_before_the_panic_before_it() {
    let raised = Rc::new(Cell::new(None));
    let keeps = raised.clone();
    let outer = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        let exit = catch_unwind(AssertUnwindSafe(|| co.suspend(()))).expect_err("it is dropped");
        let result = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                let mut exit = Some(exit);
                let guard = OnDrop(move || resume_unwind(exit.take().expect("dropped once")));
                // The scope ends it.
                forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(guard)));
                panic!("the scope's own");
            });
        }));
        let payload = result.expect_err("it panics");
        keeps.set(Some(message(&*payload).to_owned()));
        resume_unwind(payload);
    });
    outer.resume(());
    drop(outer);
    assert_eq!(raised.take().as_deref(), Some("(no text)"), "an exit has none");
}

#[test]
fn a_members_foreign_exit_does_not_leave_a_ring_in_code_that_unwinds() {
    inside(|| {
        let mut exit = Some(foreign_exit());
        let raised = catch_unwind(AssertUnwindSafe(|| {
            let _guard = OnDrop(|| {
                let exit = exit.take();
                ring::scope(|s| {
                    s.spawn(move || resume_unwind(exit.expect("dropped once")));
                    ring::run();
                });
            });
            panic!("the outer one");
        }));
        assert_eq!(message(&*raised.expect_err("it panics")), "the outer one");
    });
}
