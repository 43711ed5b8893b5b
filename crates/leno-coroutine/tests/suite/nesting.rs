//! Unwinding across several stacks: a coroutine ended by code that is itself unwinding, and a
//! coroutine that is suspended, and then ended, by one further in.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::support::{Log, OnDrop, message, plays, rerun};
use leno_coroutine::{Coroutine, Exiting, Step, Suspender, ring, scope};

/// Ends in the middle of an unwinding whatever `f` makes.
fn drop_while_unwinding<T>(f: impl FnOnce() -> T) {
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _made = f();
        panic!("of the frame that owns it");
    }));
    assert!(panic.is_err());
}

#[test]
fn coroutine_dropped_by_an_unwinding_frame_is_unwound() {
    let log = Log::new();
    let inner = log.clone();
    drop_while_unwinding(|| {
        let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
            let _guard = inner.on_drop("unwound");
            co.suspend(());
        });
        coroutine.resume(());
        coroutine
    });
    assert_eq!(log.text(), "unwound");
    assert!(!std::thread::panicking());
}

/// Both the frame that owns the coroutine and the coroutine itself unwind: it still cannot
/// suspend.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn try_suspend_in_a_coroutine_dropped_by_an_unwinding_frame() {
    const TEST: &str =
        concat!(module_path!(), "::try_suspend_in_a_coroutine_dropped_by_an_unwinding_frame");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    let said = Rc::new(Cell::new(None));
    let saying = said.clone();
    drop_while_unwinding(|| {
        let coroutine = Coroutine::new(move |co: &Suspender<(), u8>, ()| {
            let _guard = OnDrop(|| saying.set(co.try_suspend(7).err()));
            co.suspend(1);
        });
        coroutine.resume(());
        coroutine
    });
    assert_eq!(said.get(), Some(Exiting(7)));
    assert!(!std::thread::panicking());
}

/// What cannot be told apart (see DESIGN.md): a coroutine that a destructor has resumed while its
/// thread unwinds, and that then fails itself. std says only that the thread panics, so it may
/// suspend in the middle of its own unwinding; resumed again, it goes on with that.
#[test]
fn coroutine_that_fails_inside_a_destructor_may_suspend_there() {
    let said = Rc::new(Cell::new(None));
    drop_while_unwinding(|| {
        OnDrop(|| {
            let saying = said.clone();
            let coroutine = Coroutine::new(move |co: &Suspender<(), u8>, ()| {
                let _guard = OnDrop(|| saying.set(Some(co.try_suspend(7))));
                panic!("of the coroutine");
            });
            let coroutine: Coroutine<(), u8, ()> = coroutine;
            let on_the_way = coroutine.resume(());
            let failed = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
            assert_eq!(on_the_way, Step::Suspended(7));
            assert_eq!(message(&*failed.expect_err("it goes on")), "of the coroutine");
        })
    });
    assert_eq!(said.get(), Some(Ok(())));
    assert!(!std::thread::panicking());
}

/// The same for a ring that a destructor has entered.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn yield_of_a_member_that_exits_inside_a_destructor() {
    const TEST: &str =
        concat!(module_path!(), "::yield_of_a_member_that_exits_inside_a_destructor");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    let log = Log::new();
    drop_while_unwinding(|| {
        OnDrop(|| {
            ring::scope(|s| {
                s.spawn(|| {
                    let _last = log.on_drop("unwound");
                    let _guard = OnDrop(|| {
                        ring::yield_now();
                        log.push("yield returned at once, ");
                    });
                    ring::yield_now();
                });
                ring::yield_now();
            });
        })
    });
    assert_eq!(log.text(), "yield returned at once, unwound");
    assert!(!std::thread::panicking());
}

#[test]
fn member_of_a_ring_suspends_the_coroutine_that_entered_it() {
    let log = Log::new();
    let inner = log.clone();
    let host = Coroutine::new(move |co: &Suspender<(), u8>, ()| {
        let log = inner;
        let _host = log.on_drop("host.");
        ring::scope(|s| {
            s.spawn(|| {
                let _second = log.on_drop("second, ");
                ring::yield_now();
            });
            s.spawn(|| {
                let _first = log.on_drop("first, ");
                co.suspend(1);
                log.push("on ");
                ring::yield_now();
                co.suspend(2);
            });
            loop {
                ring::yield_now();
                log.push("round ");
            }
        });
    });
    assert_eq!(host.resume(()), Step::<u8, ()>::Suspended(1));
    ring::yield_now();
    assert_eq!(host.resume(()), Step::Suspended(2));
    assert_eq!(log.take(), "on round ");
    drop(host);
    assert_eq!(log.text(), "first, second, host.", "who is in the way unwinds on the way out");
}

/// A child that handles its exit may suspend the coroutine around the scope; when that is then
/// dropped, the children not yet ended must still end before the scope is left.
#[test]
fn scope_that_is_ended_while_it_ends_its_children() {
    let log = Log::new();
    let inner = log.clone();
    let outer = Coroutine::new(move |outer: &Suspender<(), u8>, ()| {
        let log = inner;
        let _outer = log.on_drop("outer.");
        scope(|s| {
            let one = s.coroutine(|co: &Suspender<(), ()>, ()| {
                let _one = log.on_drop("one, ");
                co.suspend(());
            });
            let two = s.coroutine(|co: &Suspender<(), ()>, ()| {
                let _two = log.on_drop("two, ");
                let exit = catch_unwind(AssertUnwindSafe(|| co.suspend(())));
                outer.suspend(1);
                drop(exit);
            });
            one.resume(());
            two.resume(());
            std::mem::forget((one, two));
        });
    });
    assert_eq!(outer.resume(()), Step::Suspended(1));
    drop(outer);
    assert_eq!(log.text(), "two, one, outer.");
}

/// The same for a ring.
#[test]
fn ring_that_is_ended_while_it_is_drained() {
    let log = Log::new();
    let inner = log.clone();
    let outer = Coroutine::new(move |outer: &Suspender<(), u8>, ()| {
        let log = inner;
        let _outer = log.on_drop("outer.");
        ring::scope(|s| {
            s.spawn(|| {
                let _two = log.on_drop("two, ");
                ring::yield_now();
            });
            s.spawn(|| {
                let _one = log.on_drop("one, ");
                let exit = catch_unwind(ring::yield_now);
                outer.suspend(1);
                drop(exit);
            });
            ring::yield_now();
        });
    });
    assert_eq!(outer.resume(()), Step::Suspended(1));
    drop(outer);
    assert_eq!(log.text(), "one, two, outer.");
}

/// The coroutine is suspended on the stack of one further in, with hardly any of that left.
#[test]
#[cfg_attr(any(leno_asan, leno_tsan), ignore = "sanitizers make frames larger")]
#[cfg(not(leno_baton))]
#[cfg_attr(miri, ignore = "spawns a process")]
fn backtrace_of_a_coroutine_suspended_with_little_stack_left_further_in() {
    const TEST: &str = concat!(
        module_path!(),
        "::backtrace_of_a_coroutine_suspended_with_little_stack_left_further_in"
    );
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    fn nearly_full(outer: &Suspender<(), usize>) {
        let room = [0_u8; 256];
        match leno_coroutine::stack_left() {
            Some(left) if left > 2048 => nearly_full(outer),
            left => outer.suspend(left.unwrap_or(0)),
        }
        std::hint::black_box(&room);
    }
    let outer = Coroutine::new(|outer: &Suspender<(), usize>, ()| {
        scope(|s| {
            let small = leno_coroutine::Builder::new().stack_size(1);
            let inner = s.coroutine_with(small, |_: &Suspender<(), ()>, ()| nearly_full(outer));
            inner.expect("there is memory").resume(());
        });
    });
    assert!(outer.resume(()).suspended().is_some_and(|left| left < 4096));
    assert!(outer.backtrace().is_none(), "there is no room to capture one");
    assert_eq!(outer.resume(()), Step::Finished(()));
}
