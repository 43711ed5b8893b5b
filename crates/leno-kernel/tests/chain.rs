//! Children of a scope run beside the coroutine they borrow from, not inside it.

use leno_coroutine::{Builder, Step, Suspender};
use leno_kernel::{LocalSystem, Scope, ScopedHandle, scope};

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
