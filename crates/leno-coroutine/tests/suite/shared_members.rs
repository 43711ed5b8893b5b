//! Members of a ring on shared stacks: hops, ending, failing, being in the way of each other.
#![cfg(not(any(leno_baton, leno_asan)))]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leno_context::control::hold_frames;
use leno_coroutine::ring::{self, Member, RingError};
use leno_coroutine::shared::Stacks;
use leno_coroutine::{Builder, Coroutine, Local, State, Step, Suspender, list};

/// SAFETY of all members here: nothing outside refers to their locals.
fn spawn(stacks: &Stacks, name: &'static str, body: impl FnOnce() + 'static) -> Member {
    // SAFETY: see above.
    unsafe { stacks.spawn_with(Builder::new().name(name), body) }.unwrap()
}

type Log = Rc<RefCell<Vec<String>>>;

/// A member that notes its turns, and whose locals must survive being moved.
fn turns(log: &Log, name: &'static str, turns: usize) -> impl FnOnce() + 'static + use<> {
    let log = log.clone();
    move || {
        let mut local = [0usize; 32];
        let own_address = (&raw const local).addr();
        for turn in 0..turns {
            local[turn % 32] += turn;
            log.borrow_mut().push(format!("{name}{turn}"));
            ring::yield_now();
            assert_eq!((&raw const local).addr(), own_address);
        }
        assert_eq!(local.iter().sum::<usize>(), (0..turns).sum());
    }
}

fn wait_for_all() {
    ring::wait_until(|| ring::members().unwrap().len() == 1);
}

#[test]
fn s2_a_member_with_a_body_and_a_shared_stack() {
    let (stacks, log) = (Stacks::new(1), Log::default());
    ring::scope(|s| {
        spawn(&stacks, "b", turns(&log, "b", 3));
        spawn(&stacks, "a", turns(&log, "a", 2));
        s.spawn(turns(&log, "own", 2));
        wait_for_all();
    });
    assert_eq!(log.take().join(" "), "own0 a0 b0 own1 a1 b1 b2");
    assert_eq!(stacks.stacks(), 1);
    let counters = stacks.counters();
    assert!(counters.rescues > 0 && counters.restores > 0, "{counters:?}");
}

#[test]
fn s32_many_members_on_two_stacks() {
    let stacks = Stacks::new(2);
    let sum = Rc::new(Cell::new(0));
    ring::scope(|_| {
        for n in 0..100u64 {
            let sum = sum.clone();
            spawn(&stacks, "many", move || {
                for _ in 0..10 {
                    let before = n;
                    ring::yield_now();
                    sum.set(sum.get() + before);
                }
            });
        }
        wait_for_all();
    });
    assert_eq!((stacks.stacks(), sum.get()), (2, 49_500));
}

#[test]
fn s9_a_member_on_a_shared_stack_can_be_named() {
    let (stacks, log) = (Stacks::new(1), Log::default());
    ring::scope(|_| {
        let a = spawn(&stacks, "a", turns(&log, "a", 2));
        let b = spawn(&stacks, "b", turns(&log, "b", 2));
        for member in [&a, &b, &b] {
            ring::yield_to(member).unwrap();
        }
        assert!(a.is_finished() && b.is_finished());
        assert_eq!(ring::yield_to(&a), Err(RingError::Finished { member: a.to_string() }));
    });
    assert_eq!(log.take().join(" "), "a0 b0 b1 a1");
}

#[test]
fn s36_stored_members_end_when_the_ring_is_drained() {
    struct Noted(Rc<Cell<usize>>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let stacks = Stacks::new(1);
    ring::scope(|_| {
        for _ in 0..5 {
            let noted = Noted(dropped.clone());
            spawn(&stacks, "left", move || {
                let _noted = noted;
                loop {
                    ring::yield_now();
                }
            });
        }
        (0..3).for_each(|_| ring::yield_now());
        let noted = Noted(dropped.clone());
        spawn(&stacks, "new", move || drop(noted));
        assert_eq!(dropped.get(), 0);
    });
    assert_eq!(dropped.get(), 6);
    assert!(list::coroutines().is_empty());
}

#[test]
fn s14_a_panic_ends_one_member_and_the_others_go_on() {
    let (stacks, log) = (Stacks::new(1), Log::default());
    ring::scope(|_| {
        spawn(&stacks, "good", turns(&log, "good", 3));
        spawn(&stacks, "bad", || panic!("as planned"));
        wait_for_all();
        let failures = ring::failures().unwrap();
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].member.name(), Some("bad"));
        assert_eq!(failures[0].payload.downcast_ref(), Some(&"as planned"));
    });
    assert_eq!(log.take().join(" "), "good0 good1 good2");
}

#[test]
fn s2_locals_and_names_of_shared_members() {
    static COUNT: Local<Cell<u32>> = Local::new(|| Cell::new(0));
    let stacks = Stacks::new(1);
    ring::scope(|_| {
        for n in 1..=3 {
            spawn(&stacks, "with local", move || {
                for turn in 0..n {
                    COUNT.with(|count| {
                        assert_eq!(count.get(), turn);
                        count.set(turn + 1);
                    });
                    assert_eq!(ring::current().unwrap().to_string(), "'with local'");
                    ring::yield_now();
                }
            });
        }
        ring::yield_now();
        let listed = list::coroutines();
        let shared = listed.iter().filter(|info| info.is_member && info.state == State::Suspended);
        assert_eq!(shared.count(), 3, "{listed:?}");
        wait_for_all();
        assert!(ring::failures().unwrap().is_empty());
    });
}

#[test]
fn s38_whoever_is_in_the_middle_of_a_call_is_not_moved() {
    let stacks = Stacks::new(1);
    let refused: Rc<RefCell<Vec<RingError>>> = Rc::default();
    ring::scope(|_| {
        let (inner, log) = (stacks.clone(), refused.clone());
        spawn(&stacks, "outer", move || {
            let local = [7; 16];
            ring::scope(|_| {
                let late = spawn(&inner, "inner", || ());
                log.borrow_mut().extend(ring::try_yield_now().err());
                log.borrow_mut().extend(ring::yield_to(&late).err());
                assert_eq!(ring::members().unwrap().len(), 2, "nothing has changed");
                drop(log);
                // It has not started, so the drain can drop it where it is.
            });
            assert_eq!(local, [7; 16]);
        });
        ring::yield_now();
    });
    let occupied = RingError::Occupied { member: "'inner'".into(), by: "'outer'".into() };
    assert_eq!(refused.take(), [occupied.clone(), occupied]);
}

/// Both are ended, first the one that is suspended in the middle of a wait and in the way of the other one.
#[test]
fn a_member_that_another_one_is_in_the_way_of_is_ended_after_that() {
    let (stacks, log) = (Stacks::new(1), Log::default());
    let noted = |log: &Log, name: &'static str| {
        let log = log.clone();
        Noted(Box::new(move || log.borrow_mut().push(name.to_owned())))
    };
    ring::scope(|_| {
        let (waits, moved) = (noted(&log, "waits"), noted(&log, "moved"));
        spawn(&stacks, "waits", move || {
            let _waits = waits;
            // SAFETY: dropped when this function unwinds.
            let _held = unsafe { hold_frames() };
            ring::yield_now();
        });
        spawn(&stacks, "moved", move || {
            let _moved = moved;
            ring::yield_now();
        });
        ring::yield_now();
        assert!(ring::try_yield_now().is_err(), "its stack is occupied");
    });
    assert_eq!(log.take().join(" "), "waits moved");
}

/// Does something when it is dropped.
struct Noted(Box<dyn Fn()>);

impl Drop for Noted {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn s30_a_shared_member_resumes_shared_coroutines_on_its_own_stack() {
    let (stacks, log) = (Stacks::new(1), Log::default());
    ring::scope(|_| {
        for name in ["x", "y"] {
            let (stacks, log) = (stacks.clone(), log.clone());
            spawn(&stacks.clone(), name, move || {
                let count = |co: &Suspender<(), u32>, ()| (0..3).for_each(|n| co.suspend(n));
                // SAFETY: nothing outside refers to its locals.
                let co = unsafe { stacks.coroutine(count) }.unwrap();
                while let Step::Suspended(n) = co.resume(()) {
                    log.borrow_mut().push(format!("{name}{n}"));
                    ring::yield_now();
                }
            });
        }
        wait_for_all();
        assert!(ring::failures().unwrap().is_empty());
    });
    assert_eq!(log.take().join(" "), "y0 x0 y1 x1 y2 x2");
}

#[test]
fn s21_inside_an_asymmetric_coroutine_on_the_same_stack_a_yield_is_refused() {
    let stacks = Stacks::new(1);
    let inner = stacks.clone();
    ring::scope(|_| {
        spawn(&stacks, "member", move || {
            let body = |_: &Suspender<(), ()>, ()| ring::try_yield_now();
            // SAFETY: nothing outside refers to its locals.
            let co = unsafe { inner.coroutine_with(Builder::new().name("inside"), body) }.unwrap();
            let result = co.resume(()).finished().unwrap();
            assert_eq!(result, Err(RingError::InsideAsymmetric { coroutine: "'inside'".into() }));
        });
        wait_for_all();
        assert!(ring::failures().unwrap().is_empty());
    });
}

#[test]
fn s36_stacks_outlive_the_handle_while_members_need_them() {
    let log = Log::default();
    ring::scope(|_| {
        let stacks = Stacks::new(1);
        spawn(&stacks, "a", turns(&log, "a", 2));
        spawn(&stacks, "b", turns(&log, "b", 2));
        drop(stacks);
        wait_for_all();
    });
    assert_eq!(log.take().join(" "), "b0 a0 b1 a1");
    assert!(list::coroutines().is_empty());
}

#[test]
fn s30_a_ring_inside_a_coroutine_has_members_on_shared_stacks() {
    let (stacks, log) = (Stacks::new(1), Log::default());
    let inner_log = log.clone();
    let co = Coroutine::new(move |co: &Suspender<(), u32>, ()| {
        ring::scope(|_| {
            spawn(&stacks, "p", turns(&inner_log, "p", 2));
            spawn(&stacks, "q", turns(&inner_log, "q", 2));
            ring::yield_now();
            co.suspend(1);
            wait_for_all();
        });
    });
    assert_eq!(co.resume(()), Step::Suspended(1));
    assert_eq!(co.resume(()), Step::Finished(()));
    assert_eq!(log.take().join(" "), "q0 p0 q1 p1");
}
