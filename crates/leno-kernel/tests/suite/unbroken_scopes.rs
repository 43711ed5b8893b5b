//! Scopes leave when their children have ended, whatever user code does meanwhile.
#![cfg(not(any(loom, leno_baton)))]

use super::support::ends_the_process;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::support::bounded;
use leno_coroutine::Coroutine;
use leno_kernel::policy::{Policy, Ready};
use leno_kernel::{
    Co, LocalSystem, Options, Reason, Start, attach, current, park, scope, yield_now,
};

/// Says when it is dropped.
struct Ends<'a>(&'a Cell<u32>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

thread_local!(static FAILS: Cell<bool> = const { Cell::new(false) });

/// Panics once, when it is told.
#[derive(Default)]
struct Panics(VecDeque<Co>);

impl Policy for Panics {
    fn ready(&mut self, ready: &Ready<'_>) {
        assert!(!FAILS.take(), "a policy panics");
        self.0.push_back(ready.co);
    }
    fn pick(&mut self) -> Option<Co> {
        self.0.pop_front()
    }
    fn forget(&mut self, co: Co) {
        self.0.retain(|other| *other != co);
    }
}

#[test]
fn a_scope_waits_for_its_children_though_a_policy_panics() {
    let system = LocalSystem::builder().policy(Panics::default()).build();
    let owner = system.spawn(|| {
        let ended = Cell::new(0);
        let left = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                for _ in 0..2 {
                    drop(s.spawn(|| {
                        let _ends = Ends(&ended);
                        park(Reason::Blocking);
                        yield_now();
                    }));
                }
                yield_now();
                FAILS.set(true);
                panic!("the owner panics");
            })
        }));
        (ended.get(), left.is_err())
    });
    let ran = catch_unwind(AssertUnwindSafe(|| system.run().map(|_| ())));
    let message = *ran.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, "a policy panics");
    system.run().unwrap();
    assert_eq!(owner.join().unwrap(), (2, true));
}

/// A generator that waits inside a scope, whose child waits too.
fn around_a_scope(ended: &Rc<Cell<u32>>, eager: bool) -> Coroutine<(), (), ()> {
    let ended = ended.clone();
    Coroutine::new(move |co: &leno_coroutine::Suspender<(), ()>, ()| {
        scope(|s| {
            let start = if eager { Start::Eager } else { Start::Ready };
            let child = s.spawn_with(&Options::new().start(start), || {
                let _ends = Ends(&ended);
                for _ in 0..3 {
                    yield_now();
                }
            });
            drop(child);
            co.suspend(());
        });
        assert_eq!(ended.get(), 1, "the scope has returned");
    })
}

#[test]
fn a_scope_in_a_generator_ends_when_its_owner_panics() {
    bounded(|| {
        for eager in [false, true] {
            let (system, ended) = (LocalSystem::new(), Rc::new(Cell::new(0)));
            let own = ended.clone();
            let owner = system.spawn(move || {
                let generator = around_a_scope(&own, eager);
                generator.resume(());
                if eager {
                    yield_now();
                }
                panic!("the owner panics");
            });
            system.run().unwrap();
            assert!(owner.join().unwrap_err().to_string().contains("the owner panics"));
            assert_eq!(ended.get(), u32::from(eager));
        }
    });
}

#[test]
fn a_scope_waits_where_its_generator_goes_on() {
    bounded(|| {
        let (system, ended) = (LocalSystem::new(), Rc::new(Cell::new(0)));
        let kept: Rc<RefCell<Option<Coroutine<(), (), ()>>>> = Rc::default();
        let (own, keeps) = (ended.clone(), kept.clone());
        drop(system.spawn(move || {
            let generator = around_a_scope(&own, false);
            generator.resume(());
            keeps.replace(Some(generator));
        }));
        drop(system.spawn(move || {
            let generator = kept.take().expect("it was left");
            generator.resume(());
        }));
        let report = system.run().unwrap();
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        assert_eq!(ended.get(), 1);
    });
}

#[test]
fn a_scope_whose_generator_goes_on_in_a_future_runs_its_children() {
    bounded(|| {
        for is_dropped in [false, true] {
            let (system, ended) = (LocalSystem::new(), Rc::new(Cell::new(0)));
            let kept: Rc<RefCell<Option<Coroutine<(), (), ()>>>> = Rc::default();
            let (own, keeps) = (ended.clone(), kept.clone());
            drop(system.spawn(move || {
                let generator = around_a_scope(&own, true);
                generator.resume(());
                keeps.replace(Some(generator));
            }));
            let own = ended.clone();
            drop(system.spawn_future(async move {
                let generator = kept.take().expect("it was left");
                if !is_dropped {
                    generator.resume(());
                }
                drop(generator);
                assert_eq!(own.get(), 1, "its child has ended");
            }));
            let report = system.run().unwrap();
            assert!(report.failures.is_empty(), "{:?}", report.failures);
            assert_eq!(ended.get(), 1);
        }
    });
}

/// A result that borrows, and lets the owner of its scope run when it is dropped.
struct Late<'a> {
    returned: &'a Cell<bool>,
    dropped: &'a Cell<u32>,
    system: Rc<LocalSystem>,
    owner: Co,
}

impl Drop for Late<'_> {
    fn drop(&mut self) {
        let owner = self.owner;
        let eager = Options::new().start(Start::Eager);
        drop(self.system.spawn_with(&eager, move || attach(owner).is_ok()));
        assert!(!self.returned.get(), "its scope has returned");
        self.dropped.set(self.dropped.get() + 1);
    }
}

#[test]
fn an_untaken_result_is_dropped_before_its_scope_returns() {
    let system = Rc::new(LocalSystem::new());
    let inner = system.clone();
    let owner = system.spawn(move || {
        let owner = current().unwrap();
        let (returned, dropped) = (Cell::new(false), Cell::new(0));
        scope(|s| {
            let late =
                || Late { returned: &returned, dropped: &dropped, system: inner.clone(), owner };
            drop(s.spawn(late));
            drop(s.spawn_future(async move { late() }));
        });
        returned.set(true);
        dropped.get()
    });
    let report = system.run().unwrap();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(owner.join().unwrap(), 2);
}

#[test]
fn an_untaken_result_whose_drop_panics_leaves_its_scope() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the result's drop");
        }
    }
    let system = LocalSystem::new();
    let owner = system.spawn(|| {
        let ended = Cell::new(0);
        let left = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                drop(s.spawn(|| {
                    let _ends = Ends(&ended);
                    Bomb
                }));
                drop(s.spawn_future(async {
                    let _ends = Ends(&ended);
                    Bomb
                }));
            })
        }));
        (ended.get(), *left.unwrap_err().downcast::<&str>().unwrap())
    });
    system.run().unwrap();
    assert_eq!(owner.join().unwrap(), (2, "the result's drop"));
}

/// The scope must not end before its child, which only its system could run, and nobody runs that.
#[test]
fn a_scope_that_ends_outside_of_its_system_with_a_child_ends_the_process() {
    let name = "a_scope_that_ends_outside_of_its_system_with_a_child_ends_the_process";
    ends_the_process(
        module_path!(),
        name,
        "a scope of the kernel ends outside of its system",
        || {
            let system = LocalSystem::builder().virtual_time().build();
            let kept: Rc<RefCell<Option<Coroutine<(), (), ()>>>> = Rc::default();
            let keeps = kept.clone();
            drop(system.spawn(move || {
                let generator = Coroutine::new(|co: &leno_coroutine::Suspender<(), ()>, ()| {
                    scope(|s| {
                        drop(s.spawn(|| park(Reason::Children)));
                        co.suspend(());
                    });
                });
                generator.resume(());
                yield_now();
                keeps.replace(Some(generator));
            }));
            let _deadlock = system.run();
            drop(kept.take());
        },
    );
}

/// Drops a generator.
struct Drops<'a>(&'a RefCell<Option<Coroutine<(), (), ()>>>);

impl Drop for Drops<'_> {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// The scope must not end before its child, which cannot go on before the scope has ended: that is above it, and
/// nothing can be left while the child's stack unwinds.
#[test]
fn a_child_that_drops_the_generator_around_its_scope_while_it_unwinds_ends_the_process() {
    let name =
        "a_child_that_drops_the_generator_around_its_scope_while_it_unwinds_ends_the_process";
    ends_the_process(
        module_path!(),
        name,
        "children of a scope of the kernel cannot be ended",
        || {
            let system = LocalSystem::builder().virtual_time().build();
            let kept: Rc<RefCell<Option<Coroutine<(), (), ()>>>> = Rc::default();
            let keeps = kept.clone();
            drop(system.spawn(move || {
                let generator =
                    Coroutine::new(move |co: &leno_coroutine::Suspender<(), ()>, ()| {
                        scope(|s| {
                            drop(s.spawn(|| {
                                let _drops = Drops(&kept);
                                panic!("a child panics");
                            }));
                            co.suspend(());
                        });
                    });
                generator.resume(());
                keeps.replace(Some(generator));
                park(Reason::Children);
            }));
            let _deadlock = system.run();
        },
    );
}

/// A scope whose end is left to its own child, which waits for itself then.
fn ends_in_its_child(drops: bool) {
    let system = LocalSystem::builder().virtual_time().build();
    let kept: Rc<RefCell<Option<Coroutine<(), (), ()>>>> = Rc::default();
    let keeps = kept.clone();
    drop(system.spawn(move || {
        let generator = Coroutine::new(move |co: &leno_coroutine::Suspender<(), ()>, ()| {
            scope(|s| {
                drop(s.spawn(|| {
                    let generator = kept.take().expect("it is there");
                    if !drops {
                        generator.resume(());
                    }
                }));
                co.suspend(());
            });
        });
        generator.resume(());
        keeps.replace(Some(generator));
        park(Reason::Children);
    }));
    let _deadlock = system.run();
}

/// A child of a scope, which waits in a scope of its own for a child that ends the first scope.
fn waits_in_a_circle(tell: impl Fn() + 'static) {
    let kept: Rc<RefCell<Option<Coroutine<(), (), ()>>>> = Rc::default();
    let keeps = kept.clone();
    let generator = Coroutine::new(move |co: &leno_coroutine::Suspender<(), ()>, ()| {
        scope(|outer| {
            drop(outer.spawn(|| {
                scope(|inner| {
                    drop(inner.spawn(|| {
                        let generator = kept.take().expect("it is there");
                        tell();
                        drop(generator);
                    }));
                });
            }));
            co.suspend(());
        });
    });
    generator.resume(());
    keeps.replace(Some(generator));
    park(Reason::Children);
}

#[test]
fn a_local_system_whose_scopes_wait_for_each_other_ends_the_process_when_it_is_dropped() {
    let name =
        "a_local_system_whose_scopes_wait_for_each_other_ends_the_process_when_it_is_dropped";
    ends_the_process(
        module_path!(),
        name,
        "each waits in a scope for a child that waits for it",
        || {
            let system = LocalSystem::builder().virtual_time().build();
            drop(system.spawn(|| waits_in_a_circle(|| ())));
            assert!(system.run().is_err(), "a deadlock, as long as it is not dropped");
        },
    );
}

#[test]
fn a_system_whose_scopes_wait_for_each_other_ends_the_process_when_it_is_dropped() {
    let name = "a_system_whose_scopes_wait_for_each_other_ends_the_process_when_it_is_dropped";
    ends_the_process(
        module_path!(),
        name,
        "each waits in a scope for a child that waits for it",
        || {
            let system = leno_kernel::System::builder().cores(2).build().unwrap();
            let (tell, told) = std::sync::mpsc::channel();
            drop(system.spawn(move || waits_in_a_circle(move || tell.send(()).unwrap())));
            told.recv().unwrap();
        },
    );
}

#[test]
fn a_child_that_drops_the_generator_around_its_scope_ends_the_process() {
    let name = "a_child_that_drops_the_generator_around_its_scope_ends_the_process";
    ends_the_process(module_path!(), name, "and so waits for itself", || ends_in_its_child(true));
}

#[test]
fn a_child_in_which_its_own_scope_ends_ends_the_process() {
    let name = "a_child_in_which_its_own_scope_ends_ends_the_process";
    ends_the_process(module_path!(), name, "and so waits for itself", || ends_in_its_child(false));
}
