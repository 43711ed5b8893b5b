//! Children of a scope run beside the coroutine they borrow from, not inside it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use leno_coroutine::ring::{self, RingError};
use leno_coroutine::{Builder, Coroutine, Step, Suspender};
use leno_kernel::{
    Back, LocalSystem, Options, Outcome, Scope, ScopedHandle, Start, attach, current, scope,
    try_spawn_local,
};

type Spawn = for<'s> fn(&'s Scope<'s, '_>, &'s Suspender<(), u32>) -> ScopedHandle<'s, ()>;

/// A generator whose scope has a child that suspends the generator: what came of the child.
fn refusal_of(spawn: Spawn) -> String {
    let system = LocalSystem::new();
    let body = move |co: &Suspender<(), u32>, ()| {
        let failed = scope(|s| spawn(s, co).join()).expect_err("the child is refused");
        co.suspend(1);
        failed.to_string()
    };
    let generator = Builder::new().name("generator").coroutine(body).unwrap();
    let said = system.spawn(move || {
        assert_eq!(generator.resume(()), Step::Suspended(1), "it waits where it has suspended");
        generator.resume(()).finished().expect("it goes on")
    });
    system.run().unwrap();
    said.join().unwrap()
}

#[test]
fn a_future_that_suspends_a_generator_around_its_scope_is_refused() {
    let said = refusal_of(|s, co| s.spawn_future(async move { co.suspend(7) }));
    assert!(said.contains("the suspender of coroutine 'generator'"), "{said}");
    assert!(said.contains("does not run inside it"), "{said}");
}

#[test]
fn a_child_that_suspends_a_generator_around_its_scope_is_refused() {
    let said = refusal_of(|s, co| s.spawn(move || co.suspend(7)));
    assert!(said.contains("the suspender of coroutine 'generator'"), "{said}");
    assert!(said.contains("was used by coroutine "), "{said}");
}

#[test]
fn a_generator_in_a_child_is_refused_as_well() {
    let said = refusal_of(|s, co| {
        s.spawn(move || {
            leno_coroutine::scope(|inner| {
                let middle = inner.coroutine(|_: &Suspender<(), ()>, ()| co.suspend(7));
                middle.resume(());
            });
        })
    });
    assert!(said.contains("the suspender of coroutine 'generator'"), "{said}");
}

/// Whoever runs on top of a generator, and suspends it: what came of it.
fn refusal_on_top(run: for<'s> fn(&'s Scope<'s, '_>, &'s Suspender<(), u32>)) -> String {
    let system = LocalSystem::new();
    let body = move |co: &Suspender<(), u32>, ()| {
        let failed = catch_unwind(AssertUnwindSafe(|| scope(|s| run(s, co))));
        co.suspend(1);
        failed.expect_err("the child is refused").downcast_ref::<String>().cloned()
    };
    let generator = Builder::new().name("generator").coroutine(body).unwrap();
    let said = system.spawn(move || {
        assert_eq!(generator.resume(()), Step::Suspended(1), "it waits where it has suspended");
        generator.resume(()).finished().expect("it goes on")
    });
    system.run().unwrap();
    said.join().unwrap().expect("a text")
}

#[test]
fn a_child_that_runs_on_top_of_a_generator_does_not_suspend_it() {
    let said = refusal_on_top(|s, co| {
        let eager = Options::new().start(Start::Eager);
        drop(s.spawn_with(&eager, move || co.suspend(7)).unwrap());
    });
    assert!(said.contains("the suspender of coroutine 'generator'"), "{said}");
    assert!(said.contains("runs on top of it"), "{said}");
}

#[test]
fn a_future_that_is_attached_by_a_generator_does_not_suspend_it() {
    let said = refusal_on_top(|s, co| {
        let child = s.spawn_future(async move { co.suspend(7) });
        let back = attach(child.co().expect("it is there"));
        assert_eq!(back, Ok(Back::Ended(Outcome::Panicked)));
    });
    assert!(said.contains("the suspender of coroutine 'generator'"), "{said}");
    assert!(said.contains("runs on top of it"), "{said}");
}

#[test]
fn a_future_that_runs_on_top_of_a_member_of_a_ring_does_not_hop() {
    let system = LocalSystem::new();
    let idle = Options::new().start(Start::Idle);
    let hops = system.spawn_future_with(&idle, async { ring::try_yield_now() }).unwrap();
    let own = hops.co().expect("it is there");
    let first = system.spawn_future(async move {
        let member = ring::spawn(|| ());
        let back = attach(own);
        assert!(!member.is_finished());
        ring::run();
        back
    });
    system.run().unwrap();
    assert_eq!(first.join().unwrap(), Ok(Back::Ended(Outcome::Returned)));
    assert!(matches!(hops.join().unwrap(), Err(RingError::Held { .. })));
}

#[test]
fn a_member_to_which_a_future_hops_is_not_inside_it() {
    let system = LocalSystem::new();
    let hops = system.spawn_future(async {
        let seen = Rc::new(Cell::new(None));
        let tell = seen.clone();
        ring::spawn(move || tell.set(Some(current())));
        ring::run();
        let inside = Cell::new(None);
        ring::scope(|s| {
            s.spawn(|| inside.set(current()));
            ring::run();
        });
        (seen.take(), inside.get() == current())
    });
    system.run().unwrap();
    assert_eq!(hops.join().unwrap(), (Some(None), true));
}

#[test]
fn what_runs_on_top_has_generators_and_rings_of_its_own() {
    let system = LocalSystem::new();
    let outer = system.spawn_future(async {
        let (eager, alone) = (Options::new().start(Start::Eager), ring::try_yield_now());
        let inner = try_spawn_local(&eager, || {
            let numbers = Coroutine::new(|co: &Suspender<(), u32>, ()| co.suspend(3));
            ring::scope(|s| {
                s.spawn(ring::yield_now);
                ring::run();
            });
            numbers.resume(()).suspended()
        });
        (alone, inner.unwrap().join().unwrap())
    });
    system.run().unwrap();
    assert_eq!(outer.join().unwrap(), (Ok(()), Some(3)));
}
