//! A system of one core: order, parking, joins, panics, exit, time, futures.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leno_kernel::{
    LocalSystem, Options, Outcome, Quiescence, Reason, State, Wake, block_on, cancel, current,
    exit, now, park, sleep, spawn_local, spawn_local_future, unpark, yield_now,
};

type Log = Rc<RefCell<Vec<String>>>;

fn note(log: &Log, text: impl Into<String>) {
    log.borrow_mut().push(text.into());
}

#[test]
fn first_come_first_served() {
    let (system, log) = (LocalSystem::new(), Log::default());
    for name in ["a", "b", "c"] {
        let log = log.clone();
        drop(system.spawn(move || {
            for turn in 0..2 {
                note(&log, format!("{name}{turn}"));
                yield_now();
            }
        }));
    }
    let report = system.run().unwrap();
    assert_eq!((report.spawned, report.returned), (3, 3));
    assert_eq!(log.take().join(" "), "a0 b0 c0 a1 b1 c1");
}

#[test]
fn p44_an_unpark_before_the_park_is_not_lost() {
    let system = LocalSystem::new();
    let done = system.spawn(|| {
        unpark(current().unwrap());
        unpark(current().unwrap());
        assert_eq!(park(Reason::Passive), Wake::Unparked, "the permit was there");
    });
    system.run().unwrap();
    done.join().unwrap();
}

#[test]
fn a_parked_one_goes_on_when_unparked() {
    let (system, log) = (LocalSystem::new(), Log::default());
    let own = log.clone();
    let sleeper = system.spawn(move || {
        note(&own, "parks");
        park(Reason::Passive);
        note(&own, "goes on");
    });
    let (own, sleeper) = (log.clone(), sleeper.co().unwrap());
    drop(system.spawn(move || {
        note(&own, "unparks");
        unpark(sleeper);
        note(&own, "runs on");
    }));
    system.run().unwrap();
    assert_eq!(log.take().join(", "), "parks, unparks, runs on, goes on");
}

#[test]
fn c5_a_deadlock_names_who_waits_for_what() {
    let system = LocalSystem::new();
    let options = Options::new().name("stuck");
    let stuck = system.spawn_with(&options, || park(Reason::Passive)).unwrap();
    let waits = system.spawn_with(&Options::new().name("joiner"), move || stuck.join()).unwrap();
    let deadlock = system.run().unwrap_err();
    let text = deadlock.to_string();
    assert!(text.contains("'stuck' is parked, spawned at "), "{text}");
    assert!(text.contains("'joiner' is waiting for the end of "), "{text}");
    let states: Vec<_> = deadlock.report.alive.iter().map(|alive| alive.state).collect();
    assert!(matches!(states[..], [State::Parked(Reason::Passive), State::Parked(_)]), "{states:?}");
    // Someone outside may still unpark it.
    unpark(deadlock.report.alive[0].co);
    system.run().unwrap();
    assert_eq!(waits.join().unwrap().unwrap(), Wake::Unparked);
}

#[test]
fn a_result_can_be_awaited_and_joined_by_anyone() {
    let system = LocalSystem::new();
    let first = system.spawn(|| 1);
    let second = system.spawn_future(async move { first.await.unwrap() + 1 });
    let third = system.spawn(move || second.join().unwrap() + 1);
    system.run().unwrap();
    assert_eq!(third.join().unwrap(), 3);
}

#[test]
fn c13_a_panic_reaches_whoever_waits_and_the_system_survives() {
    let system = LocalSystem::new();
    let bad = system.spawn_with(&Options::new().name("bad"), || panic!("as planned")).unwrap();
    let good = system.spawn(|| 5);
    drop(system.spawn(|| -> u32 { panic!("nobody waits") }));
    let future = system.spawn_future(async { panic!("in a future") });
    let report = system.run().unwrap();
    assert_eq!((report.panicked, report.returned), (3, 1));
    assert_eq!(report.failures.len(), 1, "the one nobody waits for");
    assert_eq!(report.failures[0].payload.downcast_ref(), Some(&"nobody waits"));
    let error = bad.join().unwrap_err();
    assert_eq!(error.to_string(), "coroutine 'bad' panicked: as planned");
    assert_eq!(future.join().unwrap_err().outcome(), Some(Outcome::Panicked));
    assert_eq!(good.join().unwrap(), 5);
}

struct Noted(Log, &'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        note(&self.0, self.1);
    }
}

#[test]
fn cancelled_ones_unwind_and_unstarted_ones_are_dropped() {
    let (system, log) = (LocalSystem::new(), Log::default());
    let noted = Noted(log.clone(), "started");
    let started = system.spawn(move || {
        let _noted = noted;
        loop {
            yield_now();
        }
    });
    let noted = Noted(log.clone(), "future");
    let future = system.spawn_future(async move {
        let _noted = noted;
        std::future::pending::<()>().await;
    });
    let (first, second) = (started.co().unwrap(), future.co().unwrap());
    let noted = Noted(log.clone(), "unstarted");
    let unstarted = system.spawn(move || {
        let _noted = noted;
        unreachable!("it was cancelled before it could run");
    });
    unstarted.cancel();
    drop(system.spawn(move || {
        yield_now();
        cancel(first);
        cancel(second);
    }));
    let report = system.run().unwrap();
    assert_eq!((report.exited, report.returned), (3, 1));
    let mut dropped = log.take();
    dropped.sort();
    assert_eq!(dropped, ["future", "started", "unstarted"]);
    assert_eq!(unstarted.join().unwrap_err().outcome(), Some(Outcome::Exited));
    assert_eq!(started.join().unwrap_err().outcome(), Some(Outcome::Exited));
}

#[test]
fn exit_reaches_an_operation_as_a_value_before_the_stack_unwinds() {
    let (system, log) = (LocalSystem::new(), Log::default());
    let own = log.clone();
    let waits = system.spawn(move || {
        let _noted = Noted(own.clone(), "unwound");
        assert_eq!(park(Reason::Passive), Wake::Exit);
        note(&own, "withdrawn");
        exit();
    });
    let co = waits.co().unwrap();
    drop(system.spawn(move || cancel(co)));
    system.run().unwrap();
    assert_eq!(log.take().join(", "), "withdrawn, unwound");
}

#[test]
fn while_its_stack_unwinds_a_coroutine_cannot_wait() {
    struct Waits(Log);
    impl Drop for Waits {
        fn drop(&mut self) {
            assert_eq!(park(Reason::Passive), Wake::Exit);
            exit();
            note(&self.0, "went on");
        }
    }
    let (system, log) = (LocalSystem::new(), Log::default());
    let waits = Waits(log.clone());
    let panics = system.spawn(move || {
        let _waits = waits;
        panic!("as planned");
    });
    system.run().unwrap();
    assert!(panics.join().is_err());
    assert_eq!(log.take(), ["went on"]);
}

#[test]
#[cfg_attr(miri, ignore = "leaves a thread behind")]
fn a_body_that_catches_its_exit_for_ever_is_given_up() {
    let system = LocalSystem::new();
    drop(system.spawn(|| {
        loop {
            let _ = std::panic::catch_unwind(yield_now);
        }
    }));
    let report = system.drain();
    assert_eq!((report.exited, report.given_up), (1, 0), "it had not started");
    let never = system.spawn(|| {
        loop {
            let _ = std::panic::catch_unwind(yield_now);
        }
    });
    let co = never.co().unwrap();
    drop(system.spawn(move || cancel(co)));
    let report = system.run().unwrap();
    assert_eq!((report.given_up, report.alive.len()), (1, 0), "{report}");
    assert!(never.is_finished());
}

#[test]
fn virtual_time_jumps() {
    let system = LocalSystem::builder().virtual_time().build();
    let log = Log::default();
    for (name, wait) in [("late", 3), ("early", 1), ("middle", 2)] {
        let log = log.clone();
        drop(system.spawn(move || {
            sleep(Duration::from_secs(wait * 3600));
            note(&log, format!("{name} at {}", now()));
        }));
    }
    let started = std::time::Instant::now();
    system.run().unwrap();
    assert!(started.elapsed() < Duration::from_secs(3600));
    let expected = ["early at 3600.000000 s", "middle at 7200.000000 s", "late at 10800.000000 s"];
    assert_eq!(log.take(), expected);
}

#[test]
fn real_time_is_waited_for() {
    let system = LocalSystem::new();
    let slept = system.spawn(|| {
        let before = now();
        sleep(Duration::from_millis(20));
        now() - before
    });
    system.run().unwrap();
    assert!(slept.join().unwrap() >= Duration::from_millis(20));
}

#[test]
fn systems_nest() {
    let (outer, log) = (LocalSystem::new(), Log::default());
    let own = log.clone();
    drop(outer.spawn(move || {
        let inner = LocalSystem::new();
        for name in ["x", "y"] {
            let log = own.clone();
            drop(inner.spawn(move || {
                note(&log, name);
                yield_now();
                note(&log, name);
            }));
        }
        inner.run().unwrap();
        note(&own, "inner done");
        yield_now();
        note(&own, "outer done");
    }));
    let own = log.clone();
    drop(outer.spawn(move || note(&own, "other")));
    outer.run().unwrap();
    assert_eq!(log.take().join(" "), "x y x y inner done other outer done");
}

#[test]
#[cfg_attr(leno_baton, ignore = "native: finds coroutines by their stacks")]
fn c9_parking_inside_generators_and_rings_parks_the_whole_chain() {
    use leno_coroutine::{Coroutine, ring};
    let (system, log) = (LocalSystem::new(), Log::default());
    let own = log.clone();
    drop(system.spawn(move || {
        let inside = own.clone();
        let generator = Coroutine::new(move |co, ()| {
            for n in 0..2 {
                yield_now();
                note(&inside, format!("generator {n}"));
                co.suspend(n);
            }
        });
        for n in &generator {
            note(&own, format!("got {n}"));
        }
        ring::scope(|s| {
            let inside = own.clone();
            s.spawn(move || {
                yield_now();
                note(&inside, "member");
            });
            ring::yield_now();
        });
    }));
    let own = log.clone();
    drop(system.spawn(move || {
        for _ in 0..4 {
            note(&own, "other");
            yield_now();
        }
    }));
    system.run().unwrap();
    let expected = "other, generator 0, got 0, other, generator 1, got 1, other, member, other";
    assert_eq!(log.take().join(", "), expected);
}

#[test]
fn p48_closures_and_futures_behave_alike() {
    let run = |futures: bool| {
        let (system, log) = (LocalSystem::new(), Log::default());
        for name in ["a", "b"] {
            let own = log.clone();
            let begun = move || note(&own, name);
            let own = log.clone();
            let ended = move || note(&own, format!("{name} ends"));
            let child = || 7;
            if futures {
                drop(system.spawn_future(async move {
                    begun();
                    let child = spawn_local_future(async move { child() });
                    assert_eq!(child.await.unwrap(), 7);
                    ended();
                }));
            } else {
                drop(system.spawn(move || {
                    begun();
                    let child = spawn_local(child);
                    assert_eq!(child.join().unwrap(), 7);
                    ended();
                }));
            }
        }
        let report = system.run().unwrap();
        (log.take(), report.spawned, report.returned)
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_blocking_operation_inside_a_future_is_refused() {
    let system = LocalSystem::new();
    let refused = system.spawn_future(async { park(Reason::Passive) });
    system.run().unwrap();
    let text = refused.join().unwrap_err().to_string();
    assert!(text.contains("use its `_async` form"), "{text}");
}

#[test]
fn a_system_waits_for_wakers_that_others_hold() {
    let system = LocalSystem::new();
    let (send, receive) = std::sync::mpsc::channel();
    let answer = system.spawn(move || {
        let mut sent = false;
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        block_on(std::future::poll_fn(|context| {
            if flag.load(std::sync::atomic::Ordering::SeqCst) {
                return std::task::Poll::Ready(9);
            }
            if !std::mem::replace(&mut sent, true) {
                send.send((context.waker().clone(), flag.clone())).unwrap();
            }
            std::task::Poll::Pending
        }))
    });
    let other = std::thread::spawn(move || {
        let (waker, flag) = receive.recv().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        flag.store(true, std::sync::atomic::Ordering::SeqCst);
        waker.wake();
    });
    system.run().unwrap();
    assert_eq!(answer.join().unwrap(), 9);
    other.join().unwrap();
}

#[test]
fn dropping_a_system_runs_every_destructor() {
    let log = Log::default();
    let counter = Rc::new(Cell::new(0));
    {
        let system = LocalSystem::new();
        for _ in 0..10 {
            let (noted, counter) = (Noted(log.clone(), "dropped"), counter.clone());
            drop(system.spawn(move || {
                let _noted = noted;
                counter.set(counter.get() + 1);
                loop {
                    park(Reason::Passive);
                    yield_now();
                }
            }));
        }
        assert!(system.run().is_err());
        let noted = Noted(log.clone(), "dropped");
        drop(system.spawn(move || drop(noted)));
    }
    assert_eq!((log.take().len(), counter.get()), (11, 10));
}

#[test]
fn c5_three_ways_to_end_when_nobody_can_run() {
    let channel = leno_kernel::Object::local();
    let stuck = |quiescence| {
        let system = LocalSystem::builder().at_quiescence(quiescence).build();
        let wait = |reason| {
            move || {
                while park(reason) != Wake::Exit {}
                exit();
            }
        };
        let handles = [
            system.spawn(wait(Reason::Hungry(channel))),
            system.spawn(wait(Reason::Blocked(channel))),
        ];
        (system, handles)
    };
    let (system, _handles) = stuck(Quiescence::Error);
    assert_eq!(system.run().unwrap_err().report.alive.len(), 2);
    let (system, _handles) = stuck(Quiescence::Report);
    assert_eq!(system.run().unwrap().alive.len(), 2);
    let (system, handles) = stuck(Quiescence::Reap);
    let report = system.run().unwrap();
    assert_eq!((report.alive.len(), report.removed), (0, 2));
    let outcomes = handles.map(|handle| handle.join().unwrap_err().outcome().unwrap());
    assert_eq!(outcomes, [Outcome::Starved, Outcome::Blockaged]);
}

#[test]
fn a_circle_of_joins_is_named() {
    let system = LocalSystem::new();
    let slots: Rc<RefCell<Vec<leno_kernel::JoinHandle<()>>>> = Rc::default();
    for name in ["x", "y", "z"] {
        let own = slots.clone();
        let body = move || {
            yield_now();
            let other = own.borrow_mut().remove(0);
            let _ = other.join();
        };
        let handle = system.spawn_with(&Options::new().name(name), body).unwrap();
        slots.borrow_mut().push(handle);
    }
    // x takes the handle of y, y that of z, z that of x.
    let first = slots.borrow_mut().remove(0);
    slots.borrow_mut().push(first);
    let deadlock = system.run().unwrap_err();
    let text = deadlock.to_string();
    assert!(text.ends_with("a circle: 'x' waits for 'y' waits for 'z' waits for 'x'"), "{text}");
    assert_eq!(deadlock.report.cycles().len(), 1);
}

#[test]
fn blocking_on_what_nobody_will_wake_is_a_deadlock() {
    let system = LocalSystem::new();
    drop(system.spawn(|| block_on(std::future::pending::<()>())));
    let report = system.run().unwrap_err().report;
    assert_eq!(report.alive[0].state, State::Parked(Reason::Future));
    assert_eq!(report.alive[0].wakers, 0);
}

/// Only the thread that made a local system can run it: it would wait for itself.
#[test]
fn who_joins_before_running_is_told() {
    let system = LocalSystem::new();
    let early = system.spawn_with(&Options::new().name("early"), || 1).unwrap();
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| early.join())).unwrap_err();
    let told = told.downcast::<String>().unwrap();
    assert!(told.contains("coroutine 'early' of a local system of its own"), "{told}");

    // One that has ended, another thread that waits, and a limit are as they should be.
    let handle = system.spawn(|| 2);
    let other = std::thread::spawn(move || handle.join().unwrap());
    let late = system.spawn(|| 3).join_timeout(Duration::from_millis(1)).unwrap_err();
    system.run().unwrap();
    assert_eq!((other.join().unwrap(), late.join().unwrap()), (2, 3));
}

/// `unwrap` prints what happened, not how it is kept.
#[test]
fn a_deadlock_is_shown_as_it_is_told() {
    let system = LocalSystem::new();
    drop(
        system
            .spawn_with(&Options::new().name("cook"), || {
                park(Reason::Hungry(leno_kernel::Object::local()))
            })
            .unwrap(),
    );
    let deadlock = system.run().unwrap_err();
    assert_eq!(format!("{deadlock:?}"), deadlock.to_string());
    assert!(deadlock.to_string().contains("'cook'"), "{deadlock}");
}
