//! Exploring explored: what is visited, how often, and that it is always the same.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_explore::{Explorer, Monitor, Trouble, thread};
use leno_kernel::io::Descriptor;
use leno_kernel::{
    LocalSystem, Options, Reason, Start, System, blocking, park, sleep, unpark, yield_now,
};

use crate::sum::{SUM, sum_on};

/// Two coroutines of `n` and `m` steps, under every schedule: how often each order was seen.
fn orders(n: usize, m: usize) -> BTreeMap<String, u32> {
    let seen: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let all = seen.clone();
    let summary = Explorer::new().exhaustive().run(move || {
        let order: Rc<RefCell<String>> = Rc::default();
        let system = LocalSystem::new();
        for (name, steps) in [('a', n), ('b', m)] {
            let order = order.clone();
            drop(system.spawn(move || {
                for step in 0..steps {
                    if step > 0 {
                        yield_now();
                    }
                    order.borrow_mut().push(name);
                }
            }));
        }
        system.run().unwrap();
        *all.lock().unwrap().entry(order.take()).or_default() += 1;
    });
    let summary = summary.unwrap();
    assert!(summary.is_complete(), "{summary}");
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

#[test]
fn all_interleavings_are_visited_each_once() {
    for (n, m, expected) in [(1, 1, 2), (2, 2, 6), (3, 2, 10), (4, 4, 70), (5, 3, 56)] {
        let orders = orders(n, m);
        assert_eq!(orders.len(), expected, "{n} and {m}");
        assert!(orders.values().all(|times| *times == 1), "{orders:?}");
    }
}

#[test]
fn the_same_schedule_gives_the_same_log_byte_for_byte() {
    let program = || {
        let system = System::new(2).unwrap();
        let sum = sum_on(&system);
        assert_eq!(sum.join().unwrap(), SUM);
        panic!("to have a log");
    };
    for seed in 0..20 {
        let once = || Explorer::new().random(seed).runs(1).shrinks(0).run(program).unwrap_err();
        let (first, second) = (once(), once());
        assert_eq!(first.token(), second.token());
        assert_eq!(first.log().to_string(), second.log().to_string());
        assert!(first.log().events().len() > 20, "{first}");
    }
}

/// Looks, and then sets: another may do so in between.
fn not_atomic(counter: &AtomicU32) {
    let before = counter.load(SeqCst);
    thread::yield_now();
    counter.store(before + 1, SeqCst);
}

fn races() {
    let counter = Arc::new(AtomicU32::new(0));
    let others: Vec<_> = (0..3)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn("adder", move || not_atomic(&counter))
        })
        .collect();
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(counter.load(SeqCst), 3, "an addition was lost");
}

#[test]
fn every_strategy_finds_a_race_shrinks_it_and_runs_it_again() {
    let explorers = [
        Explorer::new(),
        Explorer::new().random(1),
        Explorer::new().pct(1, 3),
        Explorer::new().exhaustive(),
        Explorer::new().exhaustive().most_interruptions(1),
    ];
    for explorer in explorers {
        let failure = explorer.clone().run(races).unwrap_err();
        let text = failure.to_string();
        assert!(text.contains("an addition was lost"), "{text}");
        assert!(text.contains("tests/suite/meta.rs:"), "{text}");
        assert!(text.contains("LENO_REPLAY="), "{text}");
        let unusual = failure.shortest().iter().filter(|decision| decision.took() > 0).count();
        assert!(unusual <= 2, "{explorer:?} {text}");
        // From its token, as a text, it fails again in the same way.
        let token = failure.shortest().to_string().parse().unwrap();
        let again = Explorer::new().replay(token).shrinks(0).run(races).unwrap_err();
        assert_eq!(again.trouble(), failure.trouble());
    }
}

#[test]
fn a_deadlock_is_found_and_said_who_waits() {
    let failure = Explorer::new()
        .exhaustive()
        .run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let system = LocalSystem::new();
            let seen = flag.clone();
            let waits = system.spawn(move || {
                // It looks once too early.
                if !seen.load(SeqCst) {
                    park(Reason::Io);
                    park(Reason::Io);
                }
            });
            let co = waits.co().unwrap();
            let other = thread::spawn("other", move || {
                flag.store(true, SeqCst);
                unpark(co);
            });
            system.run().unwrap();
            other.join().unwrap();
        })
        .unwrap_err();
    assert!(matches!(failure.trouble(), Trouble::Deadlock(_)), "{failure}");
    assert!(failure.to_string().contains("'main' is"), "{failure}");
}

#[test]
fn what_never_ends_is_stopped() {
    let endless = Explorer::new().runs(1).most_operations(1_000).run(|| {
        loop {
            thread::yield_now();
        }
    });
    assert!(matches!(endless.unwrap_err().trouble(), Trouble::Endless { .. }));
    let inside = Explorer::new().runs(1).most_operations(1_000).run(|| {
        let system = System::new(2).unwrap();
        for _ in 0..3 {
            drop(system.spawn(|| {
                loop {
                    yield_now();
                }
            }));
        }
        drop(system.wait());
    });
    assert!(matches!(inside.unwrap_err().trouble(), Trouble::Endless { .. }));
}

#[test]
fn a_panic_that_nobody_asks_about_is_found_in_threads_and_coroutines() {
    for place in 0..3 {
        let failure = Explorer::new()
            .runs(10)
            .run(move || match place {
                0 => drop(thread::spawn("other", || panic!("unseen"))),
                1 => {
                    let system = LocalSystem::new();
                    drop(system.spawn(|| panic!("unseen")));
                    system.run().unwrap();
                }
                _ => {
                    let system = System::new(2).unwrap();
                    drop(system.spawn(|| panic!("unseen")));
                    system.wait().unwrap();
                }
            })
            .unwrap_err();
        assert!(failure.to_string().contains("panicked: unseen"), "{failure}");
    }
    // One that is asked for is the program's own affair.
    Explorer::new().runs(10).check(|| {
        thread::spawn("other", || panic!("seen")).join().unwrap_err();
        let system = LocalSystem::new();
        let other = system.spawn(|| panic!("seen"));
        system.run().unwrap();
        other.join().unwrap_err();
    });
}

#[test]
fn a_whole_system_of_two_cores_is_explored() {
    let outcomes: Arc<Mutex<BTreeMap<u32, u32>>> = Arc::default();
    let seen = outcomes.clone();
    Explorer::new().runs(300).check(move || {
        let system = System::new(2).unwrap();
        let order = Arc::new(AtomicU32::new(0));
        let parts: Vec<_> = [1, 2]
            .into_iter()
            .map(|n| {
                let order = order.clone();
                system.spawn(move || {
                    yield_now();
                    order.store(order.load(SeqCst) * 10 + n, SeqCst);
                })
            })
            .collect();
        parts.into_iter().for_each(|part| part.join().unwrap());
        *seen.lock().unwrap().entry(order.load(SeqCst)).or_default() += 1;
    });
    let outcomes = outcomes.lock().unwrap();
    assert!(outcomes.contains_key(&12) && outcomes.contains_key(&21), "{outcomes:?}");
}

#[test]
fn time_takes_none_and_helpers_are_controlled() {
    Explorer::new().runs(20).check(|| {
        let system = LocalSystem::new();
        let done = system.spawn(|| {
            sleep(Duration::from_secs(3600));
            blocking(|| 5)
        });
        system.run().unwrap();
        assert_eq!(done.join().unwrap(), 5);
        thread::sleep(Duration::from_secs(3600));
        assert!(leno_kernel::now().as_nanos() >= 7_200_000_000_000);
    });
}

#[test]
fn a_program_that_depends_on_something_else_diverges_loudly() {
    let flips = Arc::new(AtomicU32::new(0));
    let failure = Explorer::new()
        .random(0)
        .runs(1)
        .shrinks(0)
        .run(|| {
            let other = thread::spawn("one", thread::yield_now);
            thread::yield_now();
            other.join().unwrap();
            panic!("found");
        })
        .unwrap_err();
    let token = failure.token().clone();
    let replayed = Explorer::new().replay(token).shrinks(0).run(move || {
        let more = flips.fetch_add(1, SeqCst) + 2;
        let others: Vec<_> = (0..more).map(|_| thread::spawn("one", thread::yield_now)).collect();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    let failure = replayed.unwrap_err();
    assert!(failure.to_string().contains("not controlled: diverged: "), "{failure}");
}

#[test]
fn what_never_waits_is_stopped_too() {
    let endless = Explorer::new().runs(2).most_operations(500).run(|| {
        let system = System::new(2).unwrap();
        let other = system.spawn(|| park(Reason::Io));
        let watches = system.spawn(move || while !other.is_finished() {});
        watches.join().unwrap();
    });
    assert!(matches!(endless.unwrap_err().trouble(), Trouble::Endless { .. }));
}

#[test]
fn threads_that_are_not_controlled_are_noticed() {
    let failure = Explorer::new()
        .runs(1)
        .run(|| {
            let system = LocalSystem::new();
            let waits = system.spawn(|| park(Reason::Io));
            let co = waits.co().unwrap();
            // It has done its worst before the system runs, so the run ends.
            std::thread::spawn(move || unpark(co)).join().unwrap();
            system.run().unwrap();
        })
        .unwrap_err();
    assert!(
        failure.to_string().contains("not controlled: a thread that was not made"),
        "{failure}"
    );
}

#[test]
fn real_descriptors_are_refused() {
    let failure = Explorer::new()
        .runs(1)
        .run(|| {
            let system = LocalSystem::new();
            let made = system.spawn(|| Descriptor::new(UnixStream::pair().unwrap().0).is_err());
            system.run().unwrap();
            assert!(made.join().unwrap());
            assert!(Descriptor::new(UnixStream::pair().unwrap().0).is_err());
        })
        .unwrap_err();
    assert!(failure.to_string().contains("not controlled: real I/O"), "{failure}");
}

#[test]
fn who_cannot_be_ended_is_a_leak() {
    let failure = Explorer::new()
        .runs(1)
        .shrinks(0)
        .run(|| {
            let system = LocalSystem::new();
            let eager = Options::new().start(Start::Eager);
            drop(system.spawn_with(&eager, || {
                loop {
                    let caught = std::panic::catch_unwind(|| {
                        yield_now();
                    });
                    drop(caught);
                }
            }));
            drop(system);
        })
        .unwrap_err();
    assert!(matches!(failure.trouble(), Trouble::Leak(_)), "{failure}");
}

#[test]
fn what_is_owed_for_too_long_is_no_progress() {
    let program = |polite: bool| {
        move || {
            let monitor = Monitor::new("the request is answered");
            monitor.hot();
            for turn in 0..50 {
                thread::yield_now();
                if polite && turn == 10 {
                    monitor.cold();
                }
            }
            monitor.cold();
        }
    };
    Explorer::new().runs(1).patience(20).check(program(true));
    let failure = Explorer::new().runs(1).patience(20).run(program(false)).unwrap_err();
    assert!(failure.to_string().contains("'the request is answered' was owed for 20"), "{failure}");
}
