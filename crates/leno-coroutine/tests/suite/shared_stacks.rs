//! Coroutines that share stacks by copying: states, counters, values, nesting, ending.
#![cfg(not(any(leno_baton, leno_asan)))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use leno_coroutine::shared::{Residence, SharedError, Stacks};
use leno_coroutine::{State, Step, Suspender, list, shared};

use crate::support::{plays, rerun};

fn counter(from: u32) -> impl FnOnce(&Suspender<(), u32>, ()) + 'static {
    move |co, ()| (from..u32::MAX).for_each(|n| co.suspend(n))
}

/// SAFETY of all constructions here: nothing outside refers to the bodies' locals, and nobody
/// further in suspends them.
fn on<In: 'static, Out: 'static, Ret: 'static>(
    stacks: &Stacks,
    body: impl FnOnce(&Suspender<In, Out>, In) -> Ret + 'static,
) -> shared::Coroutine<In, Out, Ret> {
    // SAFETY: see above.
    unsafe { stacks.coroutine(body) }.unwrap()
}

#[test]
fn s3_a_coroutine_can_be_made_beside_another() {
    let stacks = Stacks::new(10);
    let first = on(&stacks, counter(0));
    // SAFETY: see `on`.
    let second = unsafe { stacks.beside(&first, counter(100)) }.unwrap();
    assert_eq!(stacks.stacks(), 1);
    for n in 0..3 {
        assert_eq!(first.resume(()), Step::Suspended(n));
        assert_eq!(second.resume(()), Step::Suspended(100 + n));
    }
}

#[test]
fn s30_two_on_one_stack_are_both_correct() {
    let stacks = Stacks::new(1);
    let sum = |co: &Suspender<u64, u64>, first: u64| {
        let mut local = [first; 16];
        loop {
            let next = co.suspend(local.iter().sum());
            local[(next % 16) as usize] += next;
        }
    };
    let (a, b) = (on::<_, _, ()>(&stacks, sum), on::<_, _, ()>(&stacks, sum));
    let mut expected = [[1u64; 16], [2; 16]];
    assert_eq!(a.resume(1), Step::Suspended(16));
    assert_eq!(b.resume(2), Step::Suspended(32));
    for n in 0..100 {
        for (which, co) in [&a, &b].into_iter().enumerate() {
            expected[which][(n % 16) as usize] += n;
            assert_eq!(co.resume(n), Step::Suspended(expected[which].iter().sum()));
        }
    }
}

#[test]
fn s32_own_stacks_up_to_the_limit_then_shared_ones() {
    let stacks = Stacks::new(2);
    let all: Vec<_> = (0..100).map(|n| on(&stacks, counter(n * 1000))).collect();
    assert_eq!(stacks.stacks(), 2);
    for round in 0..5 {
        for (n, co) in all.iter().enumerate() {
            assert_eq!(co.resume(()), Step::Suspended(n as u32 * 1000 + round));
        }
    }
    let resident = all.iter().filter(|co| co.residence() == Residence::OnStack).count();
    assert_eq!(resident, 2);
}

#[test]
#[cfg_attr(leno_tsan, ignore = "thread sanitizer makes frames larger")]
fn s33_only_the_live_frames_are_copied() {
    let stacks = Stacks::new(1);
    let (a, b) = (on(&stacks, counter(0)), on(&stacks, counter(0)));
    a.resume(());
    b.resume(());
    a.resume(());
    let counters = stacks.counters();
    assert_eq!((counters.rescues, counters.restores), (2, 1));
    let each = counters.bytes / 3;
    let most = if cfg!(debug_assertions) { 4096 } else { 2048 };
    assert!((32..most).contains(&each), "{each} bytes a copy");
}

#[test]
fn s34_frames_come_back_to_their_address() {
    let stacks = Stacks::new(1);
    let own_address = |co: &Suspender<(), bool>, ()| {
        let mut local = 7u64;
        let address = &raw mut local;
        loop {
            // SAFETY: the local's own address, used by the coroutine itself while it runs.
            unsafe { *address += 1 };
            co.suspend(std::ptr::eq(std::hint::black_box(&local), address));
        }
    };
    let (a, b) = (on::<_, _, ()>(&stacks, own_address), on::<_, _, ()>(&stacks, own_address));
    for _ in 0..10 {
        assert_eq!(a.resume(()), Step::Suspended(true));
        assert_eq!(b.resume(()), Step::Suspended(true));
    }
}

#[test]
fn s35_states_stored_on_stack_running_finished() {
    let stacks = Stacks::new(1);
    let seen = Rc::new(Cell::new(None));
    let a = on(&stacks, |co: &Suspender<(), ()>, ()| co.suspend(()));
    let a = Rc::new(a);
    let b = on(&stacks, {
        let (a, seen) = (a.clone(), seen.clone());
        move |_: &Suspender<(), ()>, ()| seen.set(Some((a.state(), a.residence())))
    });
    assert_eq!((a.state(), a.residence()), (State::New, Residence::Stored));
    a.resume(());
    assert_eq!((a.state(), a.residence()), (State::Suspended, Residence::OnStack));
    b.resume(());
    assert_eq!(seen.take(), Some((State::Suspended, Residence::Stored)));
    assert!(b.is_finished());
    a.resume(());
    assert_eq!((a.state(), a.residence()), (State::Finished, Residence::Stored));
}

#[test]
fn s36_a_stored_coroutine_can_be_ended() {
    struct Count(Rc<Cell<u32>>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let stacks = Stacks::new(1);
    let drops = Rc::new(Cell::new(0));
    let all: Vec<_> = (0..10)
        .map(|_| {
            let guard = Count(drops.clone());
            let co = on(&stacks, move |co: &Suspender<(), ()>, ()| {
                let _guard = guard;
                co.suspend(());
            });
            co.resume(());
            co
        })
        .collect();
    let unstarted = on(&stacks, {
        let guard = Count(drops.clone());
        move |_: &Suspender<(), ()>, ()| drop(guard)
    });
    drop(unstarted);
    assert_eq!(drops.get(), 1, "a body that never ran is dropped");
    drop(all);
    assert_eq!(drops.get(), 11);
}

#[test]
fn s39_copies_happen_only_when_needed() {
    let stacks = Stacks::new(2);
    let alpha = on(&stacks, counter(0));
    let gamma = on(&stacks, counter(0));
    // SAFETY: see `on`.
    let beta = unsafe { stacks.beside(&alpha, counter(0)) }.unwrap();
    let step = |co: &shared::Coroutine<(), u32>| {
        let before = stacks.counters();
        co.resume(());
        let now = stacks.counters();
        (now.rescues - before.rescues, now.restores - before.restores, now.direct - before.direct)
    };
    assert_eq!(step(&alpha), (0, 0, 0), "a free stack, a new coroutine: nothing to copy");
    assert_eq!(step(&gamma), (0, 0, 0));
    assert_eq!(step(&alpha), (0, 0, 1), "on its stack: nothing to copy");
    assert_eq!(step(&beta), (1, 0, 0), "occupied, but new: alpha is rescued");
    assert_eq!(step(&gamma), (0, 0, 1), "another stack");
    assert_eq!(step(&alpha), (1, 1, 0), "beta is rescued, alpha restored");
    drop(alpha);
    assert_eq!(step(&beta), (0, 1, 0), "the stack is free: restored only");
}

#[test]
fn s41_coroutines_on_shared_stacks_are_listed() {
    let stacks = Stacks::new(1);
    let all: Vec<_> = (0..3).map(|n| on(&stacks, counter(n))).collect();
    all[0].resume(());
    all[1].resume(());
    let listed = list::coroutines();
    let states: Vec<State> = listed.iter().map(|info| info.state).collect();
    assert_eq!(states, [State::Suspended, State::Suspended, State::New]);
    assert!(listed[0].to_string().ends_with("on a shared stack"), "{}", listed[0]);
    drop(all);
    assert!(list::coroutines().is_empty());
}

#[test]
fn a_shared_coroutine_resumes_another_on_the_same_stack() {
    let stacks = Stacks::new(1);
    let log = Rc::new(RefCell::new(Vec::new()));
    let inner = Rc::new(on(&stacks, |co: &Suspender<[u64; 4], [u64; 5]>, first: [u64; 4]| {
        let mut sum: u64 = first.iter().sum();
        loop {
            sum += co.suspend([sum; 5])[3];
            if sum > 1000 {
                return [sum; 3];
            }
        }
    }));
    let outer = on(&stacks, {
        let (inner, log) = (inner.clone(), log.clone());
        move |co: &Suspender<(), u64>, ()| {
            let local = [1u64, 2, 3, 4];
            loop {
                match inner.resume(local) {
                    Step::Suspended(out) => log.borrow_mut().push(out[4]),
                    Step::Finished(ret) => return ret[2],
                }
                co.suspend(local.iter().sum());
                if log.borrow().len() == 3 {
                    assert_eq!(inner.resume([0, 0, 0, 2000]), Step::Finished([2018; 3]));
                    return 5;
                }
            }
        }
    });
    for _ in 0..3 {
        assert_eq!(outer.resume(()), Step::Suspended(10));
    }
    assert_eq!(outer.resume(()), Step::Finished(5));
    assert_eq!(*log.borrow(), [10, 14, 18]);
    assert!(inner.is_finished());
}

#[test]
fn nested_calls_across_two_stacks_come_back_in_order() {
    let stacks = Stacks::new(2);
    let log = Rc::new(RefCell::new(String::new()));
    let leaf = on::<_, _, ()>(&stacks, {
        let log = log.clone();
        move |co: &Suspender<(), ()>, ()| loop {
            log.borrow_mut().push('c');
            co.suspend(());
        }
    });
    let leaf = Rc::new(leaf);
    let middle = on::<_, _, ()>(&stacks, {
        let (leaf, log) = (leaf.clone(), log.clone());
        move |co: &Suspender<(), ()>, ()| loop {
            log.borrow_mut().push('b');
            leaf.resume(());
            log.borrow_mut().push('B');
            co.suspend(());
        }
    });
    // SAFETY: see `on`.
    let outer = unsafe {
        stacks.beside::<_, _, _, (), _, _, _>(&leaf, {
            let log = log.clone();
            move |co: &Suspender<(), ()>, ()| loop {
                log.borrow_mut().push('a');
                middle.resume(());
                log.borrow_mut().push('A');
                co.suspend(());
            }
        })
    }
    .unwrap();
    for _ in 0..3 {
        outer.resume(());
    }
    assert_eq!(*log.borrow(), "abcBAabcBAabcBA");
    drop(outer);
}

/// Stacks are counted for the whole process, so it runs alone.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn a_thread_leaves_nothing_behind() {
    const TEST: &str = concat!(module_path!(), "::a_thread_leaves_nothing_behind");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    let nested = || {
        let stacks = Stacks::new(1);
        let inner = on(&stacks, counter(0));
        let outer = on(&stacks, move |_: &Suspender<(), ()>, ()| inner.resume(()).suspended());
        assert_eq!(outer.resume(()), Step::Finished(Some(0)));
    };
    let at_work = || {
        std::thread::spawn(nested).join().unwrap();
        leno_coroutine::stack_figures().high_water
    };
    let first = at_work();
    let later = (0..40).map(|_| at_work()).max();
    assert_eq!(later, Some(first));
}

#[test]
fn a_panic_leaves_the_others_alone() {
    let stacks = Stacks::new(1);
    let fails = on(&stacks, |co: &Suspender<(), ()>, ()| {
        co.suspend(());
        panic!("on purpose");
    });
    let goes_on = on(&stacks, counter(0));
    fails.resume(());
    goes_on.resume(());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fails.resume(())));
    assert_eq!(*caught.unwrap_err().downcast_ref::<&str>().unwrap(), "on purpose");
    assert_eq!(goes_on.resume(()), Step::Suspended(1));
    let refused = fails.try_resume(()).expect_err("it has ended");
    assert!(matches!(refused, SharedError::Finished { .. }));
    let (): () = refused.into_input();
}

#[test]
fn who_cannot_make_room_is_named() {
    let stacks = Stacks::new(1);
    let second = Rc::new(on(&stacks, counter(0)));
    // SAFETY: see `on`.
    let first = unsafe {
        stacks.coroutine_with(leno_coroutine::Builder::new().name("first"), {
            let second = second.clone();
            move |_: &Suspender<(), ()>, ()| {
                let between = leno_coroutine::Coroutine::new(move |_: &Suspender<(), ()>, ()| {
                    second.try_resume(()).unwrap_err().to_string()
                });
                between.resume(()).finished().unwrap()
            }
        })
    }
    .unwrap();
    let error = first.resume(()).finished().unwrap();
    assert!(error.contains("'first' is on its shared stack"), "{error}");
    assert_eq!(second.resume(()), Step::Suspended(0), "nothing was lost");
}

#[test]
#[cfg_attr(leno_baton, ignore = "the thread backend cannot share stacks")]
fn a_backtrace_in_one_that_another_has_resumed_ends_at_the_copier() {
    use std::backtrace::Backtrace;
    let stacks = leno_coroutine::shared::Stacks::new(1);
    let body = |_: &Suspender<(), ()>, ()| Backtrace::force_capture().to_string();
    // SAFETY: nothing refers to locals of the two from outside.
    let inner = unsafe { stacks.coroutine(body) }.unwrap();
    let body = move |_: &Suspender<(), ()>, ()| inner.resume(()).finished().expect("it ends");
    // SAFETY: as above.
    let outer = unsafe { stacks.coroutine(body) }.unwrap();
    let seen = outer.resume(()).finished().expect("it ends");
    assert!(seen.contains("leno_context_entry"), "{seen}");
}

/// While its result is dropped nothing of it is left on its stack, which others may use.
#[test]
fn one_that_has_ended_is_finished_while_its_result_is_dropped() {
    type Seen = Vec<(usize, Step<u32, ()>)>;
    struct Look(shared::Coroutine<(), u32>, Rc<RefCell<Seen>>);
    impl Drop for Look {
        fn drop(&mut self) {
            self.1.borrow_mut().push((list::coroutines().len(), self.0.resume(())));
        }
    }
    let stacks = Stacks::new(1);
    let seen = Rc::new(RefCell::new(Seen::new()));
    let look = |from| Look(on(&stacks, counter(from)), seen.clone());
    let (captured, result) = (look(1), look(2));
    drop(on(&stacks, move |_: &Suspender<(), ()>, ()| drop(captured)));
    let returns = on(&stacks, move |co: &Suspender<(), ()>, ()| {
        let caught = catch_unwind(AssertUnwindSafe(|| co.suspend(())));
        assert!(caught.is_err(), "it is ended there");
        result
    });
    returns.resume(());
    drop(returns);
    let seen = seen.take();
    // The other counter is alive the first time, and this one is each time.
    assert_eq!(seen, [(2, Step::Suspended(1)), (1, Step::Suspended(2))]);
}
