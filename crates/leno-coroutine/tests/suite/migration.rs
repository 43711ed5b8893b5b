//! Stealing: every answer it can give, and what a coroutine sees afterwards.
#![cfg(not(any(leno_baton, leno_asan)))]

use std::cell::Cell;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;

use leno_coroutine::migrate::{self, Lock, Migrant, StealError, pinned};
use leno_coroutine::ring::{self, RingError};
use leno_coroutine::{Builder, ResumeError, Step, Suspender};

/// SAFETY of all bodies here: they keep only `Send` values across their suspensions.
fn migratable<In: 'static, Out: 'static, Ret: 'static>(
    body: impl FnOnce(&Suspender<In, Out>, In) -> Ret + Send + 'static,
) -> Migrant<In, Out, Ret> {
    // SAFETY: see above.
    unsafe { Builder::new().name("migrant").migratable(body) }.unwrap()
}

fn member(body: impl FnOnce() + Send + 'static) -> migrate::Member {
    // SAFETY: see above.
    unsafe { Builder::new().name("migrant").spawn_migratable(body) }.unwrap()
}

fn counter() -> Migrant<(), u32> {
    migratable(|co: &Suspender<(), u32>, ()| (0..u32::MAX).for_each(|n| co.suspend(n)))
}

/// Runs `f` on another thread and waits for it.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|s| s.spawn(f).join().unwrap())
}

#[test]
fn s47_the_target_thread_takes_the_coroutine() {
    let co = counter();
    assert_eq!(co.resume(()), Step::Suspended(0));
    elsewhere(|| {
        assert_eq!(co.steal(), Ok(true));
        assert_eq!(co.resume(()), Step::Suspended(1));
    });
    assert_eq!(co.steal(), Ok(true), "and back");
    assert_eq!(co.resume(()), Step::Suspended(2));
}

#[test]
fn s48_a_stolen_member_runs_on_the_thief() {
    let (tell, told) = mpsc::channel();
    ring::scope(|_| {
        let first = tell.clone();
        let stolen = member(move || {
            first.send(thread::current().id()).unwrap();
            ring::yield_now();
            first.send(thread::current().id()).unwrap();
        });
        ring::yield_now();
        let thief = elsewhere(|| {
            ring::scope(|_| {
                assert_eq!(stolen.steal(), Ok(true));
                ring::yield_now();
            });
            thread::current().id()
        });
        assert_eq!(told.recv().unwrap(), thread::current().id());
        assert_eq!(told.recv().unwrap(), thief);
        assert!(stolen.is_finished());
        ring::yield_now();
        assert_eq!(ring::members().unwrap().len(), 1, "the stale entry is gone");
    });
}

#[test]
fn s49_busy_means_false() {
    ring::scope(|_| {
        let (tell, told) = mpsc::channel::<migrate::Member>();
        let (answer, answered) = mpsc::channel();
        let thief = thread::spawn(move || {
            let running = told.recv().unwrap();
            answer.send(running.steal()).unwrap();
        });
        let outcome = Arc::new(Mutex::new(None));
        let (slot, handle) = (outcome.clone(), Arc::new(Mutex::new(None)));
        let own = handle.clone();
        let running = member(move || {
            let own: migrate::Member = own.lock().unwrap().take().unwrap();
            tell.send(own).unwrap();
            *slot.lock().unwrap() = Some(answered.recv().unwrap());
        });
        *handle.lock().unwrap() = Some(running);
        ring::yield_now();
        thief.join().unwrap();
        assert_eq!(outcome.lock().unwrap().take(), Some(Ok(false)));
    });
}

#[test]
fn s50_e16_a_coroutine_of_the_own_thread_is_refused() {
    let co = counter();
    assert!(matches!(co.steal(), Err(StealError::OwnThread { .. })));
    assert_eq!(
        co.steal().unwrap_err().to_string(),
        "coroutine 'migrant' belongs to this thread already"
    );
}

#[test]
fn s51_the_initial_member_is_refused() {
    ring::scope(|_| {
        let initial = ring::current().unwrap();
        assert_eq!(elsewhere(|| initial.steal()), Err(StealError::Initial));
    });
}

#[test]
fn s52_a_held_lock_refuses() {
    let lock = Arc::new(Lock::new(0));
    let co = migratable({
        let lock = lock.clone();
        move |co: &Suspender<(), ()>, ()| {
            let mut guard = lock.lock();
            co.suspend(());
            *guard += 1;
            drop(guard);
            co.suspend(());
        }
    });
    co.resume(());
    assert!(matches!(elsewhere(|| co.steal()), Err(StealError::Locked { .. })));
    co.resume(());
    assert_eq!(elsewhere(|| co.steal()), Ok(true), "released, so it may go");
    assert_eq!(*lock.lock(), 1);
}

#[test]
fn s53_a_pinned_section_refuses() {
    let co = migratable(|co: &Suspender<(), ()>, ()| {
        pinned(|| co.suspend(()));
        co.suspend(());
    });
    co.resume(());
    assert!(matches!(elsewhere(|| co.steal()), Err(StealError::Pinned { .. })));
    co.resume(());
    assert_eq!(elsewhere(|| co.steal()), Ok(true));
}

#[test]
fn s54_an_asymmetric_one_that_has_not_returned_is_refused() {
    let inner = counter();
    let seen = Arc::new(Mutex::new(None));
    let handle = Arc::new(Mutex::new(None::<Migrant<(), ()>>));
    let outer = migratable({
        let (seen, handle, inner) = (seen.clone(), handle.clone(), inner.clone());
        move |_: &Suspender<(), ()>, ()| {
            inner.resume(());
            let own = handle.lock().unwrap().take().unwrap();
            *seen.lock().unwrap() = Some(thread::spawn(move || own.steal()).join().unwrap());
        }
    });
    *handle.lock().unwrap() = Some(outer.clone());
    outer.resume(());
    let refused = seen.lock().unwrap().take().unwrap();
    assert!(matches!(refused, Err(StealError::NotReturned { .. })), "{refused:?}");
}

#[test]
fn s55_one_of_many_thieves_succeeds_and_nobody_waits() {
    for _ in 0..if cfg!(debug_assertions) { 50 } else { 500 } {
        let co = counter();
        co.resume(());
        let wins = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| match co.steal() {
                    Ok(true) => {
                        wins.fetch_add(1, Relaxed);
                        // Another thief may have taken it from this one by now.
                        let resumed = co.try_resume(());
                        assert!(matches!(resumed, Ok(_) | Err(ResumeError::OtherThread { .. })));
                    }
                    Ok(false) | Err(StealError::NotReturned { .. }) => {}
                    Err(error) => panic!("{error}"),
                });
            }
        });
        assert!(wins.load(Relaxed) >= 1);
    }
}

#[test]
fn s56_a_stolen_member_leaves_its_ring_and_is_next_in_the_new_one() {
    let log = Arc::new(Mutex::new(String::new()));
    let say = |text: &'static str| {
        let log = log.clone();
        move || {
            log.lock().unwrap().push_str(text);
            ring::yield_now();
            log.lock().unwrap().push_str(text);
        }
    };
    ring::scope(|_| {
        let stolen = member(say("s"));
        ring::yield_now();
        elsewhere(|| {
            ring::scope(|s| {
                s.spawn(say("a"));
                s.spawn(say("b"));
                assert_eq!(stolen.steal(), Ok(true));
                ring::yield_now();
                log.lock().unwrap().push('.');
                ring::yield_now();
            });
        });
        log.lock().unwrap().push('|');
        ring::yield_now();
        ring::yield_now();
    });
    assert_eq!(*log.lock().unwrap(), "ssba.ba|");
}

#[test]
fn s57_thread_identity_and_locals_are_the_new_threads() {
    thread_local!(static NAME: Cell<&'static str> = const { Cell::new("unset") });
    /// Reads a thread-local where the compiler cannot have kept its address from before.
    #[inline(never)]
    fn name() -> &'static str {
        std::hint::black_box(NAME.get())
    }
    let co = migratable(|co: &Suspender<(), &'static str>, ()| {
        loop {
            co.suspend(name());
        }
    });
    let co: Migrant<(), &'static str, ()> = co;
    NAME.set("old");
    assert_eq!(co.resume(()), Step::Suspended("old"));
    elsewhere(|| {
        NAME.set("new");
        co.steal().unwrap();
        assert_eq!(co.resume(()), Step::Suspended("new"));
    });
}

#[test]
fn s58_old_siblings_and_unmigrated_coroutines_are_errors() {
    ring::scope(|s| {
        let sibling = s.spawn(ring::yield_now);
        let (left_behind, taken_along) = (counter(), counter());
        let (tell, told) = mpsc::channel();
        let stolen = member({
            let (left, along) = (left_behind.clone(), taken_along.clone());
            move || {
                ring::yield_now();
                let left = matches!(left.try_resume(()), Err(ResumeError::OtherThread { .. }));
                let along = along.try_resume(()).is_ok();
                tell.send((ring::yield_to(&sibling), left, along)).unwrap();
            }
        });
        ring::yield_now();
        elsewhere(|| {
            ring::scope(|_| {
                assert_eq!(taken_along.steal(), Ok(true));
                assert_eq!(stolen.steal(), Ok(true));
                ring::yield_now();
            });
        });
        let (sibling, left, along) = told.recv().unwrap();
        assert!(matches!(sibling, Err(RingError::OtherThread { .. })), "{sibling:?}");
        assert!(left && along);
    });
}

#[test]
fn s84_a_lock_owned_by_the_coroutine_migrates() {
    let lock = Arc::new(Lock::new(String::new()));
    let co = migratable({
        let lock = lock.clone();
        move |co: &Suspender<(), ()>, ()| {
            let mut guard = lock.lock_owned();
            guard.push_str("before ");
            co.suspend(());
            guard.push_str("after");
        }
    });
    co.resume(());
    assert!(lock.try_lock().is_none());
    elsewhere(|| {
        assert_eq!(co.steal(), Ok(true));
        co.resume(());
    });
    assert_eq!(*lock.lock(), "before after");
}

#[test]
fn a_member_stolen_there_and_back_is_queued_once() {
    let steps = Arc::new(AtomicUsize::new(0));
    ring::scope(|_| {
        let counted = steps.clone();
        let wanderer = member(move || {
            loop {
                counted.fetch_add(1, Relaxed);
                ring::yield_now();
            }
        });
        ring::yield_now();
        let (go, gone) = mpsc::channel::<()>();
        let (come, came) = mpsc::channel::<()>();
        let other = thread::spawn({
            let wanderer = wanderer.clone();
            move || {
                ring::scope(|_| {
                    gone.recv().unwrap();
                    assert_eq!(wanderer.steal(), Ok(true));
                    ring::yield_now();
                    come.send(()).unwrap();
                    gone.recv().unwrap();
                });
            }
        });
        go.send(()).unwrap();
        came.recv().unwrap();
        assert_eq!(wanderer.steal(), Ok(true), "back, with a stale entry still in the queue");
        go.send(()).unwrap();
        other.join().unwrap();
        assert_eq!(steps.load(Relaxed), 2);
        for turn in 1..=5 {
            ring::yield_now();
            assert_eq!(steps.load(Relaxed), 2 + turn, "one step a turn");
        }
    });
}

#[test]
fn dropping_the_last_handle_elsewhere_ends_it_there() {
    struct Tell(mpsc::Sender<thread::ThreadId>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }
    let (tell, told) = mpsc::channel();
    let co = migratable(move |co: &Suspender<(), ()>, ()| {
        let _tell = Tell(tell);
        co.suspend(());
    });
    co.resume(());
    let there = thread::spawn(move || {
        drop(co);
        thread::current().id()
    });
    assert_eq!(there.join().unwrap(), told.recv().unwrap());
}

#[test]
fn migrants_under_fire_run_each_step_once() {
    const STEPS: usize = 400;
    let total = Arc::new(AtomicUsize::new(0));
    let migrants: Vec<migrate::Member> = ring::scope(|_| {
        let make = |_| {
            let total = total.clone();
            member(move || {
                for _ in 0..STEPS {
                    total.fetch_add(1, Relaxed);
                    ring::yield_now();
                }
            })
        };
        let migrants: Vec<_> = (0..8).map(make).collect();
        thread::scope(|s| {
            for seed in 1..4u64 {
                let migrants = &migrants;
                s.spawn(move || {
                    ring::scope(|_| {
                        let mut random = seed;
                        while migrants.iter().any(|migrant| !migrant.is_finished()) {
                            random ^= random << 13;
                            random ^= random >> 7;
                            random ^= random << 17;
                            let _ = migrants[random as usize % migrants.len()].steal();
                            ring::yield_now();
                        }
                    });
                });
            }
            while migrants.iter().any(|migrant| !migrant.is_finished()) {
                ring::yield_now();
            }
        });
        migrants
    });
    assert!(migrants.iter().all(migrate::Member::is_finished));
    assert_eq!(total.load(Relaxed), 8 * STEPS);
}

#[test]
fn resume_panics_where_try_resume_says_why() {
    let co = counter();
    let panic = thread::scope(|s| s.spawn(|| co.resume(())).join().unwrap_err());
    let text = panic.downcast_ref::<String>().unwrap();
    assert_eq!(text, "coroutine 'migrant' belongs to another thread: steal it first");
    assert_eq!(co.resume(()), Step::Suspended(0), "nothing has changed");
}

/// A member that has caught its exit and yielded is told to exit again; meanwhile it is its ring's.
#[test]
fn a_member_that_is_drained_is_not_offered_while_it_runs() {
    let handle = Arc::new(OnceLock::<migrate::Member>::new());
    let answers = Arc::new(Mutex::new(Vec::new()));
    let (mine, told) = (handle.clone(), answers.clone());
    let made = member(move || {
        for _ in 0..3 {
            if catch_unwind(ring::yield_now).is_err() {
                let steal = || mine.get().map(migrate::Member::steal);
                told.lock().unwrap().push(elsewhere(steal));
            }
        }
    });
    handle.set(made).expect("it is set once");
    ring::yield_now();
    let drained = ring::drain().expect("the initial member may");
    assert_eq!(*answers.lock().unwrap(), [Some(Ok(false)), Some(Ok(false)), Some(Ok(false))]);
    assert_eq!((drained.ended, drained.leaked), (1, 0));
}
