//! At a thread's end nothing is unwound, because a coroutine may be inside a borrow of another
//! thread-local: what is left is leaked, with a line on standard error. Each case is a process of
//! its own. Under the baton backend thread-locals are not the resumer's, so none of this holds.
#![cfg(not(leno_baton))]

use std::cell::{Cell, RefCell};
use std::mem::forget;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use crate::support::{Log, OnDrop, plays, rerun};
use leno_coroutine::{Builder, Coroutine, Suspender, ring, scope};

fn worker(body: impl FnOnce() + Send + 'static) {
    let named = thread::Builder::new().name("worker".into());
    named.spawn(body).expect("a thread").join().expect("it ends quietly");
}

fn suspended(body: impl FnOnce(&Suspender<(), ()>) + 'static) -> Coroutine<(), ()> {
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| body(co));
    coroutine.resume(());
    coroutine
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn coroutine_forgotten_inside_a_thread_locals_with() {
    const TEST: &str = concat!(module_path!(), "::coroutine_forgotten_inside_a_thread_locals_with");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.passed().never_said("unwound while");
        child.said("leno: thread 'worker' ended with 1 coroutine alive: leaked, not unwound");
        return;
    }
    thread_local!(static TEXT: String = String::from("a thread-local"));
    worker(|| {
        forget(suspended(|co| {
            TEXT.with(|text| {
                let _guard = OnDrop(|| eprintln!("unwound while {text} may be gone"));
                co.suspend(());
            });
        }));
    });
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s44_members_left_in_a_threads_ring_are_leaked_and_counted() {
    const TEST: &str =
        concat!(module_path!(), "::s44_members_left_in_a_threads_ring_are_leaked_and_counted");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.passed().never_said("unwound while");
        child.said("leno: thread 'worker' ended with 3 coroutines alive: leaked, not unwound");
        child.said(
            "drop them before the thread ends, leave them to a scope, or end a ring's members",
        );
        return;
    }
    thread_local!(static TEXT: String = String::from("a thread-local"));
    worker(|| {
        for _ in 0..3 {
            ring::spawn(|| {
                TEXT.with(|text| {
                    let _guard = OnDrop(|| eprintln!("unwound while {text} may be gone"));
                    ring::yield_now();
                });
            });
        }
        ring::yield_now();
    });
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn some_of_those_left_are_named() {
    const TEST: &str = concat!(module_path!(), "::some_of_those_left_are_named");
    if !plays(TEST) {
        let child = rerun(TEST);
        child.passed().said("ended with 4 coroutines alive: ").said("with ring::drain: ");
        let id = child.stderr.lines().find_map(|line| line.strip_prefix("its id is "));
        let id = id.unwrap_or_else(|| panic!("{child:#?}"));
        child.said(&format!("coroutine #{id} (created at {}:", file!()));
        child.said(&format!("member 'idle' (created at {}:", file!())).said("), ..\n");
        return;
    }
    worker(|| {
        let unnamed = suspended(|co| co.suspend(()));
        eprintln!("its id is {}", unnamed.id());
        forget(unnamed);
        for _ in 0..3 {
            Builder::new().name("idle").spawn(|| ()).unwrap();
        }
    });
}

static GONE: AtomicBool = AtomicBool::new(false);
static UNWOUND_LATE: AtomicBool = AtomicBool::new(false);

/// Leaves a coroutine suspended inside a borrow of one thread-local, its handle in another one
/// that is destroyed later, and tells whether it was unwound all the same.
fn held_by_a_thread_local(leno_first: bool) {
    thread_local! {
        static LENT: OnDrop<fn()> = const { OnDrop(|| GONE.store(true, SeqCst)) };
        static HELD: RefCell<Option<Coroutine<(), ()>>> = const { RefCell::new(None) };
    }
    worker(move || {
        if leno_first {
            drop(suspended(|co| co.suspend(())));
        }
        HELD.with_borrow_mut(|held| {
            *held = Some(suspended(|co| {
                LENT.with(|_lent| {
                    let _guard = OnDrop(|| UNWOUND_LATE.store(GONE.load(SeqCst), SeqCst));
                    co.suspend(());
                });
            }));
        });
    });
    assert!(GONE.load(SeqCst));
    assert!(!UNWOUND_LATE.load(SeqCst), "it was unwound inside a borrow of what was gone");
}

/// The handle is dropped after leno has said that the coroutine is leaked.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn coroutine_held_by_a_thread_local_older_than_lenos_own() {
    const TEST: &str =
        concat!(module_path!(), "::coroutine_held_by_a_thread_local_older_than_lenos_own");
    if plays(TEST) {
        return held_by_a_thread_local(false);
    }
    rerun(TEST).passed();
}

/// The handle is dropped before leno knows that the thread ends.
#[test]
#[cfg_attr(any(leno_asan, leno_tsan), ignore = "sanitizers object to how that is found out")]
#[cfg_attr(miri, ignore = "spawns a process")]
fn coroutine_held_by_a_thread_local_younger_than_lenos_own() {
    const TEST: &str =
        concat!(module_path!(), "::coroutine_held_by_a_thread_local_younger_than_lenos_own");
    if plays(TEST) {
        return held_by_a_thread_local(true);
    }
    rerun(TEST).passed();
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn quiet_end_when_nothing_is_left() {
    const TEST: &str = concat!(module_path!(), "::quiet_end_when_nothing_is_left");
    if !plays(TEST) {
        rerun(TEST).passed().never_said("leno:");
        return;
    }
    worker(|| {
        drop(suspended(|co| co.suspend(())));
        ring::spawn(ring::yield_now);
        ring::spawn(|| ());
        ring::yield_now();
        ring::drain().expect("the initial member may");
    });
}

/// A destructor of a thread-local that runs after leno's own may still use coroutines.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn coroutines_used_by_the_destructor_of_a_thread_local() {
    const TEST: &str =
        concat!(module_path!(), "::coroutines_used_by_the_destructor_of_a_thread_local");
    if !plays(TEST) {
        rerun(TEST).passed().said("sum 6").said("ring 3");
        return;
    }
    type Last = Option<OnDrop<fn()>>;
    thread_local!(static LAST: Cell<Last> = const { Cell::new(None) });
    worker(|| {
        // Registered before leno's own, so it is destroyed after it.
        LAST.set(Some(OnDrop(|| {
            let count = Coroutine::new(|co: &Suspender<(), u32>, ()| {
                (1..=3).for_each(|n| co.suspend(n));
            });
            eprintln!("sum {}", count.iter().sum::<u32>());
            let turns = Cell::new(0);
            ring::scope(|s| {
                s.spawn(|| (0..3).for_each(|_| turns.set(turns.get() + 1)));
                ring::yield_now();
            });
            eprintln!("ring {}", turns.get());
        })));
        drop(suspended(|co| co.suspend(())));
        ring::yield_now();
    });
}

/// Runs a thread that runs `in_body`, and then `at_end` in the destructor of a thread-local that is older
/// than leno's own.
fn worker_with_destructor(in_body: fn(), at_end: fn()) {
    type Last = Option<OnDrop<fn()>>;
    thread_local!(static LAST: Cell<Last> = const { Cell::new(None) });
    worker(move || {
        LAST.set(Some(OnDrop(at_end)));
        in_body();
    });
}

/// No thread-local that its children may borrow goes before the scope does.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_scope_in_the_destructor_of_a_thread_local_ends_its_children() {
    const TEST: &str =
        concat!(module_path!(), "::a_scope_in_the_destructor_of_a_thread_local_ends_its_children");
    if !plays(TEST) {
        rerun(TEST)
            .passed()
            .said("child ended, inner child ended, outer child ended, member ended.");
        return;
    }
    fn in_body() {
        drop(suspended(|co| co.suspend(())));
        ring::yield_now();
    }
    fn at_end() {
        let log = Log::new();
        scope(|s| {
            let child = s.coroutine(|co: &Suspender<(), ()>, ()| {
                let _guard = log.on_drop("outer child ended, ");
                scope(|s| {
                    let child = s.coroutine(|inner: &Suspender<(), ()>, ()| {
                        let _guard = log.on_drop("inner child ended, ");
                        inner.suspend(());
                    });
                    child.resume(());
                    co.suspend(());
                });
            });
            child.resume(());
            forget(child);
            let child = s.coroutine(|co: &Suspender<(), ()>, ()| {
                let _guard = log.on_drop("child ended, ");
                co.suspend(());
            });
            child.resume(());
        });
        ring::scope(|s| {
            s.spawn(|| {
                let _guard = log.on_drop("member ended.");
                ring::yield_now();
            });
            ring::yield_now();
        });
        eprintln!("{}", log.text());
    }
    worker_with_destructor(in_body, at_end);
}

/// Scopes that began before the thread's end, and are left in the destructor of a thread-local by resuming
/// the coroutine they are in.
fn left_at_thread_end(body: fn(&Suspender<(), ()>)) {
    type Held = Option<Coroutine<(), ()>>;
    thread_local!(static HELD: Cell<Held> = const { Cell::new(None) });
    struct Last(Cell<Held>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.take().expect("it was kept").resume(());
        }
    }
    thread_local!(static LAST: Last = const { Last(Cell::new(None)) });
    worker(move || {
        LAST.with(|last| last.0.set(Some(suspended(body))));
    });
}

const LEFT: &str =
    "began before its thread's end was left in the destructor of a thread-local, while its ";

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_scope_that_is_left_in_the_destructor_of_a_thread_local_says_so() {
    const TEST: &str = concat!(
        module_path!(),
        "::a_scope_that_is_left_in_the_destructor_of_a_thread_local_says_so"
    );
    if !plays(TEST) {
        rerun(TEST).aborted().said("leno: a scope that ").said(LEFT).never_said("panic =");
        return;
    }
    left_at_thread_end(|outer| {
        scope(|s| {
            let child = s.coroutine(|co: &Suspender<(), ()>, ()| co.suspend(()));
            child.resume(());
            outer.suspend(());
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_rings_scope_that_is_left_in_the_destructor_of_a_thread_local_says_so() {
    const TEST: &str = concat!(
        module_path!(),
        "::a_rings_scope_that_is_left_in_the_destructor_of_a_thread_local_says_so"
    );
    if !plays(TEST) {
        rerun(TEST).aborted().said("leno: a ring's scope that ").said(LEFT).never_said("panic =");
        return;
    }
    left_at_thread_end(|outer| {
        ring::scope(|s| {
            s.spawn(ring::yield_now);
            ring::yield_now();
            outer.suspend(());
        });
    });
}

/// A member may be inside a borrow of a thread-local that is gone.
#[test]
#[cfg_attr(any(leno_asan, leno_tsan), ignore = "sanitizers object to how that is found out")]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_threads_ring_is_not_unwound_in_the_destructor_of_a_thread_local() {
    const TEST: &str = concat!(
        module_path!(),
        "::a_threads_ring_is_not_unwound_in_the_destructor_of_a_thread_local"
    );
    if !plays(TEST) {
        let child = rerun(TEST);
        child.passed().never_said("unwound, gone");
        child.said("drained Ok(Drained { ended: 0, leaked: 1 })").said("its stack is leaked");
        child.said("cannot be unwound in the destructor of a thread-local");
        return;
    }
    thread_local! {
        static LENT: OnDrop<fn()> = const { OnDrop(|| GONE.store(true, SeqCst)) };
        static LAST: OnDrop<fn()> = const { OnDrop(|| eprintln!("drained {:?}", ring::drain())) };
    }
    worker(|| {
        // Younger than leno's own, older than what the member borrows.
        drop(suspended(|co| co.suspend(())));
        LAST.with(|_| ());
        ring::spawn(|| {
            LENT.with(|_lent| {
                let _guard = OnDrop(|| eprintln!("unwound, gone: {}", GONE.load(SeqCst)));
                ring::yield_now();
            });
        });
        ring::yield_now();
    });
}

/// A failure that nobody has taken is dropped when the thread ends: a panic there would end the process.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_failure_that_panics_when_it_is_dropped_ends_no_thread() {
    const TEST: &str =
        concat!(module_path!(), "::a_failure_that_panics_when_it_is_dropped_ends_no_thread");
    if !plays(TEST) {
        rerun(TEST)
            .passed()
            .said("ended with a failure of its ring that ring::failures has not taken");
        return;
    }
    worker(|| {
        ring::spawn(|| std::panic::panic_any(OnDrop(|| panic!("of a payload"))));
        ring::yield_now();
    });
}
