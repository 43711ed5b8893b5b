//! Coroutine-locals: every coroutine, member and plain thread has a value of its own, made on
//! first use and dropped when the coroutine has ended.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::support::{Log, OnDrop};
use leno_coroutine::{Coroutine, Local, Step, Suspender, ring};

static COUNT: Local<Cell<u32>> = Local::new(|| Cell::new(0));
static NAMES: Local<RefCell<Vec<&'static str>>> = Local::new(RefCell::default);

fn count() -> u32 {
    COUNT.with(|count| {
        count.set(count.get() + 1);
        count.get()
    })
}

#[test]
fn each_coroutine_and_the_thread_have_a_value_of_their_own() {
    let counting = || {
        Coroutine::new(|co: &Suspender<(), u32>, ()| {
            loop {
                co.suspend(count());
            }
        })
    };
    let (a, b): (Coroutine<(), u32>, Coroutine<(), u32>) = (counting(), counting());
    let steps = [a.resume(()), a.resume(()), b.resume(()), a.resume(()), b.resume(())];
    assert_eq!(steps.map(Step::suspended), [1, 2, 1, 3, 2].map(Some));
    assert_eq!((count(), count()), (1, 2), "and the thread has its own");
}

#[test]
fn members_and_their_generators_have_values_of_their_own() {
    let seen = RefCell::new(Vec::new());
    count();
    ring::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                count();
                ring::yield_now();
                let inner = Coroutine::new(|_: &Suspender<(), u32>, ()| count());
                seen.borrow_mut().push((count(), inner.resume(()).finished()));
            });
        }
        ring::yield_now();
        assert_eq!(count(), 2, "the initial member's is the thread's");
        ring::yield_now();
    });
    assert_eq!(seen.into_inner(), [(2, Some(1)), (2, Some(1))]);
}

#[test]
fn several_locals_keep_their_addresses_while_others_are_added() {
    let body = |co: &Suspender<(), ()>, ()| {
        COUNT.with(|count| {
            let before = std::ptr::from_ref(count).addr();
            count.set(7);
            NAMES.with(|names| names.borrow_mut().push("first"));
            co.suspend(());
            NAMES.with(|names| names.borrow_mut().push("second"));
            let unmoved = COUNT.with(|again| std::ptr::from_ref(again).addr() == before);
            (count.get(), unmoved, NAMES.with(|names| names.borrow().concat()))
        })
    };
    let coroutine = Coroutine::new(body);
    coroutine.resume(());
    assert_eq!(coroutine.resume(()), Step::Finished((7, true, "firstsecond".to_owned())));
}

type Guard = RefCell<Option<OnDrop<Box<dyn FnMut()>>>>;
static GUARD: Local<Guard> = Local::new(|| RefCell::new(None));

fn guard(log: &Log, text: &'static str) {
    let log = log.clone();
    GUARD.with(|slot| *slot.borrow_mut() = Some(OnDrop(Box::new(move || log.push(text)))));
}

#[test]
fn values_are_dropped_when_the_body_has_ended() {
    let log = Log::new();
    let inner = log.clone();
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        guard(&inner, "local.");
        let _variable = inner.on_drop("variable, ");
        co.suspend(());
    });
    coroutine.resume(());
    assert_eq!(log.text(), "");
    coroutine.resume(());
    assert_eq!(log.take(), "variable, local.", "by returning");
    ring::scope(|s| {
        s.spawn(|| {
            guard(&log, "local.");
            let _variable = log.on_drop("variable, ");
            ring::yield_now();
        });
        ring::yield_now();
    });
    assert_eq!(log.take(), "variable, local.", "by exit");
}

#[test]
fn coroutine_dropped_inside_with_leaves_it_first() {
    let log = Log::new();
    let inner = log.clone();
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        guard(&inner, "local.");
        GUARD.with(|slot| {
            let _inside =
                OnDrop(|| inner.push(if slot.borrow().is_some() { "with, " } else { "?" }));
            co.suspend(());
        });
    });
    coroutine.resume(());
    drop(coroutine);
    assert_eq!(log.text(), "with, local.");
}

#[test]
fn destructor_of_a_value_may_use_locals_again() {
    static LATE: Local<Rc<Cell<u32>>> = Local::new(Rc::default);
    static EARLY: Local<OnDrop<fn()>> = Local::new(|| OnDrop(|| LATE.with(|late| late.set(1))));
    let coroutine = Coroutine::new(|_: &Suspender<(), ()>, ()| {
        EARLY.with(|_| ());
        5
    });
    assert_eq!(coroutine.resume(()), Step::Finished(5));
}

#[test]
fn values_of_a_thread_are_dropped_when_it_ends() {
    static DROPS: AtomicU32 = AtomicU32::new(0);
    static COUNTED: Local<OnDrop<fn()>> = Local::new(|| {
        OnDrop(|| {
            DROPS.fetch_add(1, SeqCst);
        })
    });
    let thread = std::thread::spawn(|| {
        COUNTED.with(|_| ());
        let inside = Coroutine::new(|_: &Suspender<(), ()>, ()| COUNTED.with(|_| ()));
        inside.resume(());
        DROPS.load(SeqCst)
    });
    assert_eq!(thread.join().unwrap(), 1, "the coroutine's");
    assert_eq!(DROPS.load(SeqCst), 2, "and the thread's");
}

#[test]
fn locals_of_one_type_and_initialiser_are_several() {
    fn zero() -> Cell<u32> {
        Cell::new(0)
    }
    static A: Local<Cell<u32>> = Local::new(zero);
    static B: Local<Cell<u32>> = Local::new(zero);
    A.with(|a| a.set(5));
    assert_eq!(B.with(Cell::get), 0);
    static KEPT: OnceLock<&'static Local<Cell<u32>>> = OnceLock::new();
    let leaked: &'static Local<Cell<u32>> =
        KEPT.get_or_init(|| Box::leak(Box::new(Local::new(zero))));
    assert_eq!(leaked.with(Cell::get), 0);
}

/// Counts its drops, and panics when it is dropped.
struct Panics(&'static AtomicU32);

impl Drop for Panics {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        std::panic::resume_unwind(Box::new("a local"));
    }
}

/// The text with which a coroutine panics.
fn raised(coroutine: &Coroutine<(), ()>) -> String {
    let resume = std::panic::AssertUnwindSafe(|| coroutine.resume(()));
    crate::support::message(&*std::panic::catch_unwind(resume).unwrap_err()).to_owned()
}

#[test]
fn all_values_are_dropped_although_they_panic() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    static ONE: Local<Panics> = Local::new(|| Panics(&DROPPED));
    static TWO: Local<Panics> = Local::new(|| Panics(&DROPPED));
    let coroutine = Coroutine::new(|_: &Suspender<(), ()>, ()| ONE.with(|_| TWO.with(|_| ())));
    assert_eq!(raised(&coroutine), "a local");
    assert_eq!(DROPPED.load(SeqCst), 2);
}

#[test]
fn a_value_that_panics_while_its_coroutine_unwinds_goes_no_further() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    static ONE: Local<Panics> = Local::new(|| Panics(&DROPPED));
    static TWO: Local<Panics> = Local::new(|| Panics(&DROPPED));
    let dropped = Coroutine::new(|co: &Suspender<(), ()>, ()| {
        ONE.with(|_| TWO.with(|_| ()));
        co.suspend(());
    });
    dropped.resume(());
    drop(dropped);
    assert_eq!(DROPPED.load(SeqCst), 2);
    let fails = Coroutine::new(|_: &Suspender<(), ()>, ()| {
        ONE.with(|_| TWO.with(|_| ()));
        std::panic::resume_unwind(Box::new("the body"));
    });
    assert_eq!(raised(&fails), "the body");
    assert_eq!(DROPPED.load(SeqCst), 4);
}

#[test]
fn a_value_of_a_thread_that_panics_ends_nothing() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    static ONE: Local<Panics> = Local::new(|| Panics(&DROPPED));
    static TWO: Local<Panics> = Local::new(|| Panics(&DROPPED));
    std::thread::spawn(|| ONE.with(|_| TWO.with(|_| ()))).join().unwrap();
    assert_eq!(DROPPED.load(SeqCst), 2);
}

#[test]
#[cfg_attr(miri, ignore = "it leaks on purpose")]
fn values_that_come_back_for_ever_are_leaked() {
    struct Again;
    static AGAIN: Local<Again> = Local::new(|| Again);
    impl Drop for Again {
        fn drop(&mut self) {
            AGAIN.with(|_| ());
        }
    }
    let coroutine = Coroutine::new(|_: &Suspender<(), ()>, ()| AGAIN.with(|_| ()));
    assert_eq!(coroutine.resume(()), Step::Finished(()));
}

/// The caller's values are borrowed while the initialiser uses them; under miri, nothing else may be derived from them.
#[test]
fn the_initialiser_of_a_first_local_may_make_another() {
    static INNER: Local<u32> = Local::new(|| 1);
    static OUTER: Local<u32> = Local::new(|| INNER.with(|inner| *inner) + 1);
    let co = Coroutine::new(|_: &Suspender<(), ()>, ()| OUTER.with(|outer| *outer));
    assert_eq!(co.resume(()), Step::Finished(2));
    let thread = std::thread::spawn(|| OUTER.with(|outer| *outer));
    assert_eq!(thread.join().unwrap(), 2);
}
