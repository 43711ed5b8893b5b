//! While a coroutine is ended, values of users are dropped, and their destructors may do anything: use the
//! handle of that very coroutine, list it, panic with payloads that panic. The state is changed first, so
//! they find a coroutine that refuses; and scopes are left only when all children have ended.

use std::cell::{Cell, OnceCell, RefCell};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;

use crate::support::{Log, OnDrop, message, plays, rerun};
use leno_coroutine::{
    Coroutine, ResumeError, ScopedCoroutine, State, Suspender, list, ring, scope,
};

/// A payload whose own destructor panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("of a payload");
    }
}

/// A value whose destructor panics with a [`Payload`].
fn explosive() -> OnDrop<impl FnMut()> {
    OnDrop(|| panic_any(Payload))
}

/// Where the handle of a child is kept, within reach of the child's own values, which are the last to have it.
type Slot<'s, Out> = Rc<OnceCell<ScopedCoroutine<'s, (), Out, ()>>>;

/// The state of a child, and what came of resuming it.
type Tried = (State, Result<(), ResumeError<()>>);

/// Tries to resume a child.
fn try_it<Out>(slot: &Slot<'_, Out>) -> Tried {
    let child = slot.get().expect("it is there while it has not ended");
    (child.state(), child.try_resume(()).map(|_| ()))
}

#[test]
fn a_child_that_is_resumed_by_what_it_captured_is_finished() {
    let drops = RefCell::new(Vec::new());
    scope(|s| {
        let slot: Slot<'_, ()> = Slot::default();
        let (mine, drops) = (slot.clone(), &drops);
        let captured = OnDrop(move || drops.borrow_mut().push(try_it(&mine)));
        let child = s.coroutine(move |_: &Suspender<(), ()>, ()| drop(captured));
        slot.set(child).expect("it is set once");
    });
    let drops = drops.into_inner();
    assert!(
        matches!(&drops[..], [(State::Finished, Err(ResumeError::Finished { .. }))]),
        "dropped once, not run: {drops:?}"
    );
}

/// What a child suspends with after it has caught its exit.
struct Output<'s>(Option<OutputDrop<'s>>);

type OutputDrop<'s> = (Slot<'s, Output<'s>>, &'s RefCell<Vec<Tried>>);

impl Drop for Output<'_> {
    fn drop(&mut self) {
        if let Some((slot, drops)) = self.0.take() {
            drops.borrow_mut().push(try_it(&slot));
        }
    }
}

/// Runs a scope whose child suspends, when it is to exit, with a value that resumes it.
fn scope_with_output(drops: &RefCell<Vec<Tried>>) {
    scope(|s| {
        let slot: Slot<'_, Output<'_>> = Slot::default();
        let mine = slot.clone();
        let child = s.coroutine(move |co: &Suspender<(), Output<'_>>, ()| {
            let caught = catch_unwind(AssertUnwindSafe(|| co.suspend(Output(None))));
            assert!(caught.is_err(), "it is ended there");
            co.suspend(Output(Some((mine, drops))));
        });
        slot.set(child).expect("it is set once");
        slot.get().expect("just set").resume(());
    });
}

#[test]
fn a_child_that_is_resumed_by_its_last_output_is_being_ended() {
    let drops = RefCell::default();
    scope_with_output(&drops);
    let drops = drops.into_inner();
    let [(State::Running, Err(error @ ResumeError::Ending { .. }))] = &drops[..] else {
        panic!("{drops:?}")
    };
    assert!(error.to_string().ends_with("is being ended and cannot be resumed"), "{error}");
}

/// The handle goes while its child is ended: the child is ended once, and not by the handle.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_child_that_owns_its_own_handle_is_ended_once() {
    const TEST: &str = concat!(module_path!(), "::a_child_that_owns_its_own_handle_is_ended_once");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    for resumed in [false, true] {
        let ends = Cell::new(0);
        scope(|s| {
            let slot: Slot<'_, ()> = Slot::default();
            let (mine, guard) = (slot.clone(), OnDrop(|| ends.set(ends.get() + 1)));
            // In what it has captured, or in its frames.
            let child = s.coroutine(move |co: &Suspender<(), ()>, ()| {
                let (_mine, _guard) = (mine, guard);
                co.suspend(());
            });
            slot.set(child).expect("it is set once");
            if resumed {
                slot.get().expect("just set").resume(());
            }
        });
        assert_eq!(ends.get(), 1);
    }
}

#[test]
fn a_scope_ends_all_children_although_panics_panic() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            for _ in 0..2 {
                let child = s.coroutine(|co: &Suspender<(), ()>, ()| {
                    let _guard = log.on_drop("ended ");
                    co.suspend(());
                });
                child.resume(());
                forget(child);
                for _ in 0..2 {
                    let captured = explosive();
                    forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(captured)));
                }
            }
        })
    }));
    assert_eq!(log.text(), "ended ended ");
    let payload = panic.expect_err("the first goes on");
    assert!(payload.is::<Payload>());
    forget(payload);
}

#[test]
fn a_rings_scope_ends_all_members_although_panics_panic() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        ring::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let _guard = log.on_drop("ended ");
                    ring::wait_until(|| false);
                });
                // Whose failures nobody takes.
                s.spawn(|| panic_any(Payload));
            }
            ring::yield_now();
            for _ in 0..2 {
                let captured = explosive();
                s.spawn(move || drop(captured));
            }
        })
    }));
    assert_eq!(log.text(), "ended ended ");
    let payload = panic.expect_err("the first goes on");
    assert!(payload.is::<Payload>());
    forget(payload);
}

#[test]
fn a_drain_ends_all_members_although_panics_panic() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| {
            let _guard = log.on_drop("ended");
            ring::wait_until(|| false);
        });
        ring::yield_now();
        for _ in 0..2 {
            let captured = explosive();
            s.spawn(move || drop(captured));
        }
        let payload = catch_unwind(ring::drain).expect_err("the first goes on");
        assert!(payload.is::<Payload>());
        forget(payload);
        assert_eq!(log.text(), "ended");
        assert_eq!(ring::members().map(|all| all.len()), Ok(1));
    });
}

/// The exit of the coroutine around a scope is what goes on, not what else was raised meanwhile.
#[test]
fn a_scope_ends_all_children_although_its_own_coroutine_exits_meanwhile() {
    let log = Log::new();
    let shared = log.clone();
    let outer = Coroutine::new(move |outer: &Suspender<(), ()>, ()| {
        let _outer = shared.on_drop("outer");
        scope(|s| {
            let last = s.coroutine(|co: &Suspender<(), ()>, ()| {
                let _guard = shared.on_drop("last, ");
                co.suspend(());
            });
            last.resume(());
            forget(last);
            let suspends = OnDrop(|| outer.suspend(()));
            forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(suspends)));
            let fails = OnDrop(|| panic!("while it is ended"));
            forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(fails)));
        });
    });
    outer.resume(());
    assert_eq!(log.text(), "", "it is suspended while its scope ends");
    drop(outer);
    assert_eq!(log.text(), "last, outer");
}

/// What is listed, with the state and whether there is a backtrace.
fn listed() -> Vec<(State, bool)> {
    list::coroutines().iter().map(|info| (info.state, info.backtrace().is_some())).collect()
}

#[test]
fn a_coroutine_that_has_ended_is_not_listed_while_its_result_is_dropped() {
    let seen = Rc::new(RefCell::new(None));
    let see = seen.clone();
    let result = OnDrop(move || *see.borrow_mut() = Some(listed()));
    let coroutine = Coroutine::<(), (), _>::new(move |co, ()| {
        let caught = catch_unwind(AssertUnwindSafe(|| co.suspend(())));
        assert!(caught.is_err(), "it is ended there");
        result
    });
    coroutine.resume(());
    drop(coroutine);
    assert_eq!(seen.take(), Some(vec![]));
}

#[test]
fn a_coroutine_is_shown_to_nobody_while_it_is_ended() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let see = |seen: &Rc<RefCell<Vec<_>>>| {
        let seen = seen.clone();
        OnDrop(move || seen.borrow_mut().push(listed()))
    };
    let (captured, output) = (see(&seen), see(&seen));
    drop(Coroutine::<(), ()>::new(move |_, ()| drop(captured)));
    let coroutine = Coroutine::<(), Option<OnDrop<_>>>::new(move |co, ()| {
        let caught = catch_unwind(AssertUnwindSafe(|| co.suspend(None)));
        assert!(caught.is_err(), "it is ended there");
        co.suspend(Some(output));
    });
    coroutine.resume(());
    drop(coroutine);
    assert_eq!(seen.take(), [vec![], vec![(State::Running, false)]]);
}

/// A result that a scope cannot return is dropped before the panic goes on: two panics at once would end the
/// process.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_result_that_is_not_returned_may_panic() {
    const TEST: &str = concat!(module_path!(), "::a_result_that_is_not_returned_may_panic");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    let text = |panic: Result<_, Box<dyn std::any::Any + Send>>| {
        message(&*panic.map(drop).expect_err("it goes on")).to_owned()
    };
    let panic = catch_unwind(|| {
        scope(|s| {
            let captured = OnDrop(|| panic!("of a child"));
            forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(captured)));
            explosive()
        })
    });
    assert_eq!(text(panic), "of a child");
    let panic = catch_unwind(|| {
        ring::scope(|s| {
            let captured = OnDrop(|| panic!("of a member"));
            s.spawn(move || drop(captured));
            explosive()
        })
    });
    assert_eq!(text(panic), "of a member");
}

/// A panic that goes no further, because the code is unwinding already, is disposed of with care.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_panic_that_goes_no_further_may_panic() {
    const TEST: &str = concat!(module_path!(), "::a_panic_that_goes_no_further_may_panic");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.passed().said("panicked while it was dropped by code that was itself unwinding");
        child.said("a member panicked in a ring's scope of code that was itself unwinding");
        return;
    }
    let panic = catch_unwind(|| {
        let captured = explosive();
        let _held = Coroutine::<(), ()>::new(move |_, ()| drop(captured));
        let _ring = OnDrop(|| {
            ring::scope(|s| {
                let captured = explosive();
                s.spawn(move || drop(captured));
            });
        });
        panic!("the first one");
    });
    assert_eq!(message(&*panic.expect_err("it goes on")), "the first one");
}

#[test]
fn a_scope_ends_a_child_that_is_suspended_while_it_prints_the_scope() {
    struct Suspends<'a>(&'a Suspender<(), ()>);

    impl std::fmt::Write for Suspends<'_> {
        fn write_str(&mut self, _: &str) -> std::fmt::Result {
            self.0.suspend(());
            Ok(())
        }
    }

    let unwound = Cell::new(false);
    let own = &unwound;
    scope(|s| {
        let child = s.coroutine(move |co: &Suspender<(), ()>, ()| {
            let _unwound = OnDrop(|| own.set(true));
            std::fmt::Write::write_fmt(&mut Suspends(co), format_args!("{s:?}")).unwrap();
        });
        child.resume(());
        forget(child);
    });
    assert!(unwound.get(), "it has ended with its scope");
}
