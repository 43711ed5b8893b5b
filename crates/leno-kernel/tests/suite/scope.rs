//! Coroutines that borrow from the one that spawns them: all have ended when the scope has.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use leno_kernel::{
    LocalSystem, Options, Outcome, Reason, Start, System, park, scope, spawn_local, yield_now,
};

/// Runs `f` in a coroutine of its own system.
fn run<T: 'static>(f: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::new();
    let result = system.spawn(f);
    system.run().unwrap();
    result.join().unwrap()
}

#[test]
fn children_borrow_and_are_waited_for() {
    run(|| {
        let log = RefCell::new(Vec::new());
        scope(|s| {
            for name in ["a", "b"] {
                let log = &log;
                s.spawn(move || {
                    for turn in 0..2 {
                        log.borrow_mut().push(format!("{name}{turn}"));
                        yield_now();
                    }
                });
            }
            let log = &log;
            s.spawn_future(async move { log.borrow_mut().push("future".to_owned()) });
        });
        assert_eq!(log.take().join(" "), "a0 b0 future a1 b1");
    });
}

#[test]
fn children_may_change_what_they_borrow() {
    run(|| {
        let (mut left, mut right) = ([1, 2], [3, 4]);
        let sum = scope(|s| {
            let first = s.spawn(|| {
                left[0] = 10;
                left.iter().sum::<i32>()
            });
            let second = s.spawn(|| {
                yield_now();
                right[1] = 40;
                right.iter().sum::<i32>()
            });
            first.join().unwrap() + second.join().unwrap()
        });
        assert_eq!((sum, left, right), (55, [10, 2], [3, 40]));
    });
}

struct Counted<'a>(&'a Cell<usize>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn when_the_closure_panics_children_exit_first() {
    run(|| {
        let dropped = Cell::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                for started in [true, false] {
                    let counted = Counted(&dropped);
                    s.spawn(move || {
                        let _counted = counted;
                        park(Reason::Passive);
                        unreachable!("nobody unparks it");
                    });
                    if started {
                        yield_now();
                    }
                }
                let counted = Counted(&dropped);
                s.spawn_future(async move {
                    let _counted = counted;
                    std::future::pending::<()>().await;
                });
                panic!("as planned");
            })
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"as planned"));
        assert_eq!(dropped.get(), 3);
    });
}

#[test]
fn a_childs_panic_leaves_the_scope_unless_it_was_joined() {
    run(|| {
        let joined = scope(|s| s.spawn(|| -> u32 { panic!("taken") }).join());
        assert!(joined.is_err());
        for early in [true, false] {
            let result = catch_unwind(AssertUnwindSafe(|| {
                scope(|s| {
                    let child = s.spawn(|| -> u32 { panic!("not taken") });
                    if early {
                        drop(child);
                        yield_now();
                    } else {
                        yield_now();
                        drop(child);
                    }
                })
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(&"not taken"), "{early}");
        }
    });
}

#[test]
fn a_cancelled_owner_ends_its_children_first() {
    let system = LocalSystem::new();
    let dropped = std::rc::Rc::new(Cell::new(0));
    let own = dropped.clone();
    let owner = system.spawn(move || {
        let local = [1, 2, 3];
        scope(|s| {
            for _ in 0..3 {
                let (own, local) = (&own, &local);
                s.spawn(move || {
                    let _counted = Counted(own);
                    assert_eq!(*local, [1, 2, 3]);
                    park(Reason::Passive);
                });
            }
        });
    });
    let co = owner.co().unwrap();
    drop(system.spawn(move || {
        yield_now();
        leno_kernel::cancel(co);
    }));
    system.run().unwrap();
    assert_eq!(dropped.get(), 3);
    assert_eq!(owner.join().unwrap_err().outcome(), Some(Outcome::Exited));
}

#[test]
fn scopes_nest_and_work_on_several_cores() {
    let system = System::new(2).unwrap();
    let sum = system.spawn(|| {
        let numbers: Vec<u64> = (1..=100).collect();
        scope(|outer| {
            let halves: Vec<_> = numbers
                .chunks(50)
                .map(|half| {
                    outer.spawn(move || {
                        scope(|inner| {
                            let parts: Vec<_> = half
                                .chunks(10)
                                .map(|part| inner.spawn(move || part.iter().sum::<u64>()))
                                .collect();
                            parts.into_iter().map(|part| part.join().unwrap()).sum::<u64>()
                        })
                    })
                })
                .collect();
            halves.into_iter().map(|half| half.join().unwrap()).sum::<u64>()
        })
    });
    assert_eq!(sum.join().unwrap(), 5050);
}

#[test]
fn a_scope_needs_a_coroutine_with_a_stack() {
    assert!(catch_unwind(|| scope(|_| ())).is_err(), "on a plain thread");
    let system = LocalSystem::new();
    let future = system.spawn_future(async { scope(|_| ()) });
    system.run().unwrap();
    assert!(future.join().is_err(), "in a future");
}

#[test]
fn others_spawned_meanwhile_are_not_the_scopes() {
    run(|| {
        let other = scope(|s| {
            s.spawn(yield_now);
            spawn_local(|| park(Reason::Passive))
        });
        assert!(!other.is_finished());
        other.unpark();
        other.join().unwrap();
    });
}

/// A server's scope has children for ever. A panic among those that it forgets is not forgotten.
#[test]
fn a_scope_of_many_keeps_the_first_panic() {
    let count = if cfg!(miri) { 60 } else { 10_000 };
    let panicked = run(move || {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            scope(|s| {
                for n in 0..count {
                    drop(s.spawn(move || assert_ne!(n, count / 2, "this one")));
                    if n % 10 == 9 {
                        yield_now();
                    }
                }
            });
        }))
        .is_err()
    });
    assert!(panicked);
}

#[test]
fn a_lazy_child_starts_when_its_scope_waits_for_it() {
    let started = run(|| {
        let (dropped, joined) = (Cell::new(0), Cell::new(0));
        let lazy = Options::new().start(Start::Lazy);
        scope(|s| {
            drop(s.spawn_with(&lazy, || dropped.set(dropped.get() + 1)).unwrap());
            let child = s.spawn_with(&lazy, || joined.set(joined.get() + 1)).unwrap();
            yield_now();
            assert_eq!((dropped.get(), joined.get()), (0, 0));
            child.join().unwrap();
            assert_eq!((dropped.get(), joined.get()), (0, 1));
        });
        (dropped.get(), joined.get())
    });
    assert_eq!(started, (1, 1));
}

#[test]
fn a_lazy_child_of_a_scope_that_waits_starts_at_once() {
    let started = run(|| {
        let started = Cell::new(0);
        let count = &started;
        scope(|s| {
            s.spawn(move || {
                yield_now();
                let lazy = Options::new().start(Start::Lazy);
                drop(s.spawn_with(&lazy, move || count.set(count.get() + 1)).unwrap());
            });
        });
        started.get()
    });
    assert_eq!(started, 1);
}
