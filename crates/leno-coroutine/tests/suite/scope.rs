//! Coroutines of a scope may borrow, because none of them has a frame left when the scope is: not
//! when handles are forgotten, not when something panics, not when a coroutine further in
//! suspends one further out.

use std::cell::{Cell, RefCell};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use crate::support::{Log, OnDrop, message};
use leno_coroutine::{Builder, State, Step, Suspender, scope};

#[test]
fn children_borrow_and_change_what_is_around_the_scope() {
    let words = ["one", "three"];
    let mut lengths = Vec::new();
    scope(|s| {
        let each = s.coroutine(|co: &Suspender<(), &str>, ()| {
            words.iter().for_each(|word| co.suspend(word));
        });
        let collect = s.coroutine(|co: &Suspender<usize, ()>, mut n| {
            loop {
                lengths.push(n);
                n = co.suspend(());
            }
        });
        each.iter().for_each(|word| {
            let _: Step<(), ()> = collect.resume(word.len());
        });
    });
    assert_eq!(lengths, [3, 5]);
}

#[test]
fn forgotten_children_are_ended_last_made_first() {
    let log = Log::new();
    scope(|s| {
        let log = &log;
        for name in ["a", "b", "c"] {
            let child = s.coroutine(move |co: &Suspender<(), ()>, ()| {
                let _guard = OnDrop(move || log.push(name));
                co.suspend(());
            });
            child.resume(());
            forget(child);
        }
        let never_run = OnDrop(move || log.push("new "));
        forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(never_run)));
        log.push("end: ");
    });
    assert_eq!(log.text(), "end: new cba");
}

#[test]
fn dropping_a_child_ends_it_before_the_scope_does() {
    let log = Log::new();
    scope(|s| {
        let child = s.coroutine_with(Builder::new().name("child"), |co: &Suspender<(), ()>, ()| {
            let _guard = log.on_drop("ended, ");
            co.suspend(());
        });
        let child = child.expect("there is memory");
        child.resume(());
        let status = child.status();
        assert_eq!((child.name(), status.state()), (Some("child"), State::Suspended));
        drop(child);
        assert!(status.is_finished());
        log.push("scope goes on");
    });
    assert_eq!(log.text(), "ended, scope goes on");
}

#[test]
fn panic_of_the_closure_ends_the_children_and_goes_on() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            let child = s.coroutine(|co: &Suspender<(), ()>, ()| {
                let _guard = log.on_drop("unwound");
                co.suspend(());
            });
            child.resume(());
            forget(child);
            panic!("of the closure");
        })
    }));
    assert_eq!(message(&*panic.expect_err("it goes on")), "of the closure");
    assert_eq!(log.text(), "unwound");
}

#[test]
fn panic_raised_while_a_child_ends_goes_on_when_all_have_ended() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            for name in ["a", "b"] {
                let log = &log;
                let child = s.coroutine(move |co: &Suspender<(), ()>, ()| {
                    let _guard = OnDrop(move || log.push(name));
                    let caught = catch_unwind(AssertUnwindSafe(|| co.suspend(())));
                    assert!(caught.is_ok(), "{name} panics instead of exiting");
                });
                child.resume(());
                forget(child);
            }
        })
    }));
    assert_eq!(log.text(), "ba");
    assert_eq!(message(&*panic.expect_err("it goes on")), "b panics instead of exiting");
}

/// As the test of the same name for rings.
#[test]
fn panic_of_a_captured_value_does_not_keep_children_alive() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            let child = s.coroutine(|co: &Suspender<(), ()>, ()| {
                let _guard = log.on_drop("unwound");
                co.suspend(());
            });
            child.resume(());
            forget(child);
            let explosive = OnDrop(|| panic!("of a captured value"));
            forget(s.coroutine(move |_: &Suspender<(), ()>, ()| drop(explosive)));
        })
    }));
    assert_eq!(log.text(), "unwound");
    assert_eq!(message(&*panic.expect_err("it goes on")), "of a captured value");
}

#[test]
fn children_made_by_destructors_while_the_scope_ends_are_ended_too() {
    let log = Log::new();
    scope(|s| {
        let log = &log;
        let child = s.coroutine(move |co: &Suspender<(), ()>, ()| {
            let _guard = OnDrop(move || {
                let late = s.coroutine(move |co: &Suspender<(), ()>, ()| {
                    let _guard = OnDrop(move || log.push("late"));
                    co.suspend(());
                });
                late.resume(());
                forget(late);
                log.push("early ");
            });
            co.suspend(());
        });
        child.resume(());
        forget(child);
    });
    assert_eq!(log.text(), "early late");
}

#[test]
fn child_may_own_the_handle_of_another_child() {
    let log = Log::new();
    scope(|s| {
        let log = &log;
        let inner = s.coroutine(move |co: &Suspender<(), u8>, ()| {
            let _guard = OnDrop(move || log.push("inner"));
            co.suspend(1);
        });
        let outer = s.coroutine(move |co: &Suspender<(), u8>, ()| {
            let _guard = OnDrop(move || log.push(" outer"));
            let inner = inner;
            co.suspend(inner.resume(()).suspended().unwrap_or(0));
        });
        assert_eq!(outer.resume(()), Step::Suspended(1));
        forget(outer);
    });
    assert_eq!(log.text(), "inner outer");
}

#[test]
fn scopes_nest_and_their_children_refer_to_both() {
    let total = Cell::new(0);
    scope(|outer| {
        let add = outer.coroutine(|co: &Suspender<u32, u32>, mut n| {
            loop {
                total.set(total.get() + n);
                n = co.suspend(total.get());
            }
        });
        let _: Step<u32, ()> = add.resume(1);
        let local = 10;
        scope(|inner| {
            let twice = inner.coroutine(|_: &Suspender<(), ()>, ()| {
                (0..2).for_each(|_| assert!(!add.resume(local).is_finished()));
            });
            twice.resume(());
        });
        assert_eq!(add.resume(100).suspended(), Some(121));
    });
    assert_eq!(total.get(), 121);
}

/// `main` resumes `foo`, in which `bar` runs `go`; `go` suspends `foo`, past `bar`.
#[test]
fn m3_suspend_of_enclosing_coroutine() {
    let log = Log::new();
    let states = RefCell::new(None);
    scope(|s| {
        let (log, states) = (&log, &states);
        let foo = s.coroutine(move |foo: &Suspender<(), &'static str>, ()| {
            let _foo = log.on_drop("foo ends.");
            log.push("foo ");
            scope(|s| {
                let bar = s.coroutine(|bar: &Suspender<(), ()>, ()| {
                    let _bar = log.on_drop("bar ends, ");
                    let go = || {
                        let _go = log.on_drop("go ends, ");
                        log.push("go ");
                        foo.suspend("out of foo");
                        log.push("go again ");
                        bar.suspend(());
                        foo.suspend("out of foo once more");
                    };
                    go();
                });
                *states.borrow_mut() = Some(bar.status());
                bar.resume(());
                log.push("bar suspended alone ");
                bar.resume(());
            });
        });
        assert_eq!(foo.resume(()), Step::Suspended("out of foo"));
        let bar = states.borrow().expect("foo has made it");
        assert_eq!((foo.state(), bar.state()), (State::Suspended, State::Running));
        log.push("main ");
        assert_eq!(foo.resume(()), Step::Suspended("out of foo once more"));
        assert_eq!(log.take(), "foo go main go again bar suspended alone ");
        drop(foo);
        assert!(bar.is_finished());
    });
    assert_eq!(log.text(), "go ends, bar ends, foo ends.");
}

#[test]
#[cfg_attr(
    miri,
    ignore = "what leno keeps of a thread is leaked if it is made at the thread's end"
)]
fn a_scope_in_the_destructor_of_a_thread_local_resumes_its_children() {
    struct AtEnd(mpsc::Sender<u32>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let sum = Cell::new(0);
            scope(|s| {
                let child = s.coroutine(|co: &Suspender<(), ()>, ()| {
                    sum.set(sum.get() + 1);
                    co.suspend(());
                    sum.set(sum.get() + 2);
                });
                child.resume(());
                child.resume(());
            });
            self.0.send(sum.get()).unwrap();
        }
    }
    thread_local!(static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) });
    let (tx, rx) = mpsc::channel();
    let thread = thread::spawn(move || {
        // Older than what leno keeps of the thread, so destroyed after it.
        AT_END.set(Some(AtEnd(tx)));
        scope(|s| {
            s.coroutine(|_: &Suspender<(), ()>, ()| ()).resume(());
        });
    });
    thread.join().unwrap();
    assert_eq!(rx.recv(), Ok(3));
}
