//! A system of several cores: work is shared out, wake-ups are never lost, ends are counted.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_kernel::{
    BuildError, Options, Outcome, Reason, System, Wake, block_on, current, park, sleep, spawn,
    spawn_future, spawn_local, unpark, yield_now,
};

fn two() -> System {
    System::new(2).unwrap()
}

#[test]
fn results_come_back_to_threads_coroutines_and_futures() {
    let system = two();
    let inner = system.spawn(|| 20);
    let future = system.spawn_future(async move { inner.await.unwrap() + 1 });
    let outer = system.spawn(move || future.join().unwrap() * 2);
    assert_eq!(outer.join().unwrap(), 42);
    assert_eq!(block_on(system.spawn(|| 7)).unwrap(), 7);
}

#[test]
fn unstarted_work_is_shared_out() {
    let system = two();
    // One core is held up; the other one must take all the rest.
    let release = Arc::new(AtomicBool::new(false));
    let seen = release.clone();
    let busy = system.spawn(move || {
        let parts: Vec<_> = (0..100).map(|_| spawn(|| std::thread::current().id())).collect();
        while !seen.load(SeqCst) {
            std::thread::yield_now();
        }
        parts.into_iter().map(|part| part.join().unwrap()).collect::<HashSet<_>>()
    });
    let parts: Vec<_> = (0..100).map(|_| system.spawn(|| ())).collect();
    parts.into_iter().for_each(|part| part.join().unwrap());
    release.store(true, SeqCst);
    assert!(!busy.join().unwrap().is_empty());
    let report = system.wait().unwrap();
    assert_eq!((report.spawned, report.returned), (201, 201));
}

#[test]
#[cfg_attr(leno_baton, ignore = "native: every coroutine is a thread there")]
fn what_has_started_stays_on_its_core() {
    let system = two();
    let bodies: Vec<_> = (0..50)
        .map(|_| {
            system.spawn(|| {
                let own = std::thread::current().id();
                for _ in 0..20 {
                    yield_now();
                    assert_eq!(std::thread::current().id(), own);
                    sleep(Duration::from_micros(50));
                    assert_eq!(std::thread::current().id(), own);
                }
            })
        })
        .collect();
    bodies.into_iter().for_each(|body| body.join().unwrap());
}

#[test]
#[cfg_attr(leno_baton, ignore = "native: every coroutine is a thread there")]
fn local_ones_stay_on_the_core_of_their_spawner() {
    let system = two();
    let same = system.spawn(|| {
        let own = std::thread::current().id();
        let not_send = std::rc::Rc::new(own);
        let child = spawn_local(move || std::thread::current().id() == *not_send);
        child.join().unwrap()
    });
    assert!(same.join().unwrap());
}

/// Two coroutines, perhaps on two cores, that unpark each other.
#[test]
fn p44_wake_ups_across_cores_are_never_lost() {
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    let system = two();
    for _ in 0..4 {
        let turn = Arc::new(AtomicU64::new(0));
        let ends: Arc<Mutex<Vec<leno_kernel::Co>>> = Arc::default();
        let player = |own: u64| {
            let (turn, ends) = (turn.clone(), ends.clone());
            move || {
                ends.lock().unwrap().push(current().unwrap());
                while ends.lock().unwrap().len() < 2 {
                    yield_now();
                }
                let me = current().unwrap();
                let other = *ends.lock().unwrap().iter().find(|co| **co != me).unwrap();
                for round in 0..rounds {
                    while turn.load(SeqCst) != 2 * round + own {
                        park(Reason::Passive);
                    }
                    turn.fetch_add(1, SeqCst);
                    unpark(other);
                }
            }
        };
        let players = [system.spawn(player(0)), system.spawn(player(1))];
        players.into_iter().for_each(|player| player.join().unwrap());
        assert_eq!(turn.load(SeqCst), 2 * rounds);
    }
}

#[test]
fn c8_threads_unpark_and_cancel_through_handles() {
    let system = two();
    let woken = system.spawn(|| park(Reason::Passive));
    woken.unpark();
    assert_eq!(woken.join().unwrap(), Wake::Unparked);
    let cancelled = system.spawn(|| -> () {
        loop {
            yield_now();
        }
    });
    std::thread::sleep(Duration::from_millis(5));
    cancelled.cancel();
    assert_eq!(cancelled.join().unwrap_err().outcome(), Some(Outcome::Exited));
}

#[test]
fn waiting_for_all_finds_a_deadlock() {
    let system = two();
    for name in ["first", "second"] {
        drop(system.spawn_with(&Options::new().name(name), || park(Reason::Passive)));
    }
    let deadlock = system.wait().unwrap_err();
    let text = deadlock.to_string();
    assert!(text.contains("'first' is parked") && text.contains("'second' is parked"), "{text}");
    for alive in &deadlock.report.alive {
        unpark(alive.co);
    }
    assert_eq!(system.wait().unwrap().returned, 2);
}

#[test]
fn waiting_waits_for_sleepers() {
    let system = two();
    drop(system.spawn(|| sleep(Duration::from_millis(30))));
    let started = std::time::Instant::now();
    assert_eq!(system.wait().unwrap().returned, 1);
    assert!(started.elapsed() >= Duration::from_millis(30));
}

#[test]
fn dropping_a_system_ends_everyone_and_runs_destructors() {
    struct Counted(Arc<AtomicU64>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let dropped = Arc::new(AtomicU64::new(0));
    let system = two();
    for n in 0..100 {
        let counted = Counted(dropped.clone());
        if n % 2 == 0 {
            drop(system.spawn(move || {
                let _counted = counted;
                loop {
                    park(Reason::Passive);
                    yield_now();
                }
            }));
        } else {
            drop(system.spawn_future(async move {
                let _counted = counted;
                std::future::pending::<()>().await;
            }));
        }
    }
    drop(system);
    assert_eq!(dropped.load(SeqCst), 100);
}

#[test]
fn shutting_down_tells_who_did_not_stop() {
    let (release, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (seen, begun) = (release.clone(), started.clone());
    let system = two();
    let line = line!() + 1;
    let busy = system.spawn_with(&Options::new().name("spinner"), move || {
        begun.store(true, SeqCst);
        while !seen.load(SeqCst) {
            std::thread::yield_now();
        }
    });
    while !started.load(SeqCst) {
        std::thread::yield_now();
    }
    let stopped = system.shutdown(Duration::from_millis(50)).unwrap_err();
    let [seen] = &stopped.report.busy[..] else { panic!("one core is busy: {stopped}") };
    assert_eq!((seen.co, seen.name.as_str()), (busy.co(), Some("spinner")));
    assert_eq!(seen.site.map(|site| (site.file(), site.line())), Some((file!(), line)));
    assert!(seen.lasted >= Duration::from_millis(50), "{stopped}");
    let text = stopped.to_string();
    let expected = "not stopped in time: 1 core with a coroutine that neither ends nor waits; ";
    assert!(text.starts_with(expected), "{text}");
    let expected =
        format!("does not answer: it has run 'spinner' ({}, spawned at ", seen.co.unwrap());
    assert!(text.contains(&expected), "{text}");
    release.store(true, SeqCst);
    busy.join().unwrap();
}

#[test]
fn a_panic_ends_one_coroutine_and_the_cores_go_on() {
    let system = two();
    let bad = system.spawn(|| -> u32 { panic!("as planned") });
    assert!(bad.join().unwrap_err().into_panic().is_ok());
    assert_eq!(system.spawn(|| 3).join().unwrap(), 3);
}

#[test]
fn a_system_needs_cores() {
    assert_eq!(System::new(0).unwrap_err(), BuildError::NoCores);
}

#[test]
fn p48_futures_are_shared_out_too() {
    let system = two();
    let sum = system.spawn_future(async {
        let parts: Vec<_> = (0..100u64).map(|n| spawn_future(async move { n })).collect();
        let mut sum = 0;
        for part in parts {
            sum += part.await.unwrap();
        }
        sum
    });
    assert_eq!(sum.join().unwrap(), 4950);
}

/// A message may reach a core before its thread has begun; it is counted once all the same.
#[test]
fn a_question_to_a_core_that_has_not_begun_does_not_hide_that_all_is_done() {
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let system = two();
        system.report();
        assert!(system.wait().unwrap().alive.is_empty());
    }
}
