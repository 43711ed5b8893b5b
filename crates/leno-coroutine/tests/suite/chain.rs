//! What belongs to a coroutine is used by code that runs inside it, or refused.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use leno_coroutine::{Builder, Coroutine, Scope, Step, Suspender, ring, scope};

/// Lets code outside of a coroutine reach what is inside, as a scoped thread-local would.
struct Lent<T: 'static>(Rc<Cell<Option<&'static T>>>);

impl<T> Lent<T> {
    fn new() -> Self {
        Lent(Rc::default())
    }

    fn lend(&self, lent: &T) {
        // SAFETY: what is lent lives as long as the test uses it, and is given nothing that borrows.
        self.0.set(Some(unsafe { core::mem::transmute::<&T, &'static T>(lent) }));
    }

    fn get(&self) -> &'static T {
        self.0.get().expect("something was lent")
    }
}

impl<T> Clone for Lent<T> {
    fn clone(&self) -> Self {
        Lent(self.0.clone())
    }
}

type Lender = Lent<Suspender<(), u32>>;

/// The message with which `f` panics.
fn refusal(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it is refused");
    payload.downcast_ref::<String>().expect("a message").clone()
}

/// Suspended with its suspender lent.
fn suspended() -> (Coroutine<(), u32, &'static str>, Lender) {
    let lent = Lender::new();
    let lender = lent.clone();
    let body = move |co: &Suspender<(), u32>, ()| {
        lender.lend(co);
        co.suspend(1);
        "the end"
    };
    let outer = Builder::new().name("outer").coroutine(body).unwrap();
    assert_eq!(outer.resume(()), Step::Suspended(1));
    (outer, lent)
}

#[test]
fn a_suspender_of_a_suspended_coroutine_is_refused_on_the_threads_own_stack() {
    let (outer, lent) = suspended();
    let said = refusal(|| lent.get().suspend(2));
    assert!(said.contains("the suspender of coroutine 'outer' (created at "), "{said}");
    assert!(said.contains("does not run inside it"), "{said}");
    assert_eq!(outer.resume(()), Step::Finished("the end"), "nothing has happened to it");
}

#[test]
fn a_suspender_of_a_suspended_coroutine_is_refused_in_another_one_and_both_are_named() {
    let (outer, lent) = suspended();
    let body = move |_: &Suspender<(), ()>, ()| refusal(|| lent.get().suspend(2));
    let other = Builder::new().name("other").coroutine(body).unwrap();
    let said = other.resume(()).finished().expect("it has caught the refusal");
    assert!(said.contains("coroutine 'outer'") && said.contains("coroutine 'other'"), "{said}");
    assert_eq!(outer.resume(()), Step::Finished("the end"));
}

#[test]
fn every_way_to_suspend_is_refused() {
    use leno_coroutine::Suspend;
    let (outer, lent) = suspended();
    for said in [
        refusal(|| lent.get().try_suspend(2).unwrap()),
        refusal(|| Suspend::suspend(lent.get(), 2)),
        refusal(|| lent.get().map(|()| (), |n: u32| n).suspend(2)),
    ] {
        assert!(said.contains("coroutine 'outer'"), "{said}");
    }
    assert_eq!(outer.resume(()), Step::Finished("the end"));
}

#[test]
fn what_was_to_be_given_is_dropped_by_a_refusal() {
    let lent = Lent::<Suspender<(), Rc<()>>>::new();
    let lender = lent.clone();
    let outer = Coroutine::new(move |co: &Suspender<(), Rc<()>>, ()| {
        lender.lend(co);
        co.suspend(Rc::new(()));
    });
    drop(outer.resume(()));
    let given = Rc::new(());
    let out = given.clone();
    refusal(|| lent.get().suspend(out));
    assert_eq!(Rc::strong_count(&given), 1);
    assert_eq!(outer.resume(()), Step::Finished(()));
}

#[test]
fn a_coroutine_further_in_suspends_one_further_out() {
    let outer = Coroutine::new(|co: &Suspender<(), u32>, ()| {
        scope(|s| {
            let lent = Lender::new();
            lent.lend(co);
            let inner = s.coroutine(move |_: &Suspender<(), ()>, ()| {
                let innermost =
                    Coroutine::new(move |_: &Suspender<(), ()>, ()| lent.get().suspend(7));
                innermost.resume(());
                co.suspend(8);
            });
            inner.resume(());
        });
        ring::scope(|s| {
            s.spawn(|| co.suspend(9));
            ring::run();
        });
    });
    for n in 7..10 {
        assert_eq!(outer.resume(()), Step::Suspended(n));
    }
    assert_eq!(outer.resume(()), Step::Finished(()));
}

#[test]
fn a_scope_of_a_suspended_coroutine_is_refused() {
    let lent = Lent::<Scope<'static, 'static>>::new();
    let lender = lent.clone();
    let body = move |co: &Suspender<(), ()>, ()| {
        scope(|s| {
            // SAFETY: as in `lend`.
            lender.lend(unsafe { &*core::ptr::from_ref(s).cast() });
            co.suspend(());
        });
    };
    let outer = Builder::new().name("outer").coroutine(body).unwrap();
    assert_eq!(outer.resume(()), Step::Suspended(()));
    let said = refusal(|| drop(lent.get().coroutine(|_: &Suspender<(), ()>, ()| ())));
    assert!(said.contains("a scope of coroutine 'outer'"), "{said}");
    assert_eq!(outer.resume(()), Step::Finished(()));
}

#[test]
fn a_rings_scope_of_a_suspended_coroutine_is_refused() {
    let lent = Lent::<ring::Scope<'static, 'static>>::new();
    let lender = lent.clone();
    let body = move |co: &Suspender<(), ()>, ()| {
        ring::scope(|s| {
            // SAFETY: as in `lend`.
            lender.lend(unsafe { &*core::ptr::from_ref(s).cast() });
            co.suspend(());
        });
    };
    let outer = Builder::new().name("outer").coroutine(body).unwrap();
    assert_eq!(outer.resume(()), Step::Suspended(()));
    let said = refusal(|| drop(lent.get().spawn(|| ())));
    assert!(said.contains("a ring's scope of coroutine 'outer'"), "{said}");
    assert_eq!(outer.resume(()), Step::Finished(()));
}

#[test]
#[cfg_attr(leno_baton, ignore = "the thread backend cannot share stacks")]
fn a_coroutine_on_a_shared_stack_is_not_suspended_by_one_that_it_has_resumed() {
    let stacks = leno_coroutine::shared::Stacks::new(2);
    let lent = Lender::new();
    let lender = lent.clone();
    let body = move |_: &Suspender<(), ()>, ()| refusal(|| lent.get().suspend(2));
    // SAFETY: it has a stack of its own out of two, and so stays in place.
    let inner = unsafe { stacks.coroutine(body) }.unwrap();
    let inner_id = inner.id();
    let body = move |co: &Suspender<(), u32>, ()| {
        lender.lend(co);
        let said = inner.resume(()).finished().expect("it has caught the refusal");
        co.suspend(1);
        said
    };
    // SAFETY: as above; the other one uses its suspender while it is in place.
    let outer = unsafe { stacks.coroutine(body) }.unwrap();
    assert_eq!(outer.resume(()), Step::Suspended(1));
    let id = outer.id();
    let said = outer.resume(()).finished().expect("it has ended");
    assert!(said.contains(&format!("coroutine #{id} ")), "{said}");
    assert!(said.contains(&format!("coroutine #{inner_id} ")), "{said}");
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
#[cfg_attr(not(debug_assertions), ignore = "debug builds look")]
fn a_stack_that_is_left_in_a_critical_section_ends_a_debug_build() {
    const TEST: &str =
        concat!(module_path!(), "::a_stack_that_is_left_in_a_critical_section_ends_a_debug_build");
    if !crate::support::plays(TEST) {
        crate::support::rerun(TEST)
            .aborted()
            .said("a stack left, at ")
            .said("inside a critical section");
        return;
    }
    let inner = Coroutine::new(|_: &Suspender<(), ()>, ()| ());
    let _section = leno_context::user::Section::open();
    inner.resume(());
}
