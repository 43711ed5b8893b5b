//! What the rules leave open goes both ways, and exploring sees both.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_channel::{Select, bounded, channel};
use leno_explore::Explorer;
use leno_kernel::{LocalSystem, System, sleep, spawn, spawn_local, yield_now};

/// All that a program can say, under every schedule.
fn all(program: impl Fn() -> String + Send + Sync + 'static) -> BTreeSet<String> {
    let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let said = seen.clone();
    let summary = Explorer::new().exhaustive().run(move || {
        said.lock().unwrap().insert(program());
    });
    let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(summary.is_complete(), "{summary}");
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

/// What coroutines of one core say, in order.
fn local(f: impl FnOnce(&LocalSystem, &Words)) -> String {
    let words = Words::default();
    let system = LocalSystem::new();
    f(&system, &words);
    system.run().unwrap();
    words.0.take().join(" ")
}

#[derive(Clone, Default)]
struct Words(Rc<RefCell<Vec<String>>>);

impl Words {
    fn say(&self, word: impl Into<String>) {
        self.0.borrow_mut().push(word.into());
    }
}

#[track_caller]
fn both(seen: &BTreeSet<String>, one: &str, other: &str) {
    assert!(seen.contains(one) && seen.contains(other), "{seen:?}");
}

#[test]
fn k7_spawner_and_spawned_both_run_on_first() {
    let seen = all(|| {
        local(|system, words| {
            let words = words.clone();
            drop(system.spawn(move || {
                let other = words.clone();
                drop(spawn_local(move || other.say("spawned")));
                words.say("spawner");
            }));
        })
    });
    both(&seen, "spawner spawned", "spawned spawner");
}

#[test]
fn k14_k17_after_a_rendezvous_either_runs_on_first() {
    let seen = all(|| {
        local(|system, words| {
            let (tx, rx) = channel();
            let (reader, writer) = (words.clone(), words.clone());
            drop(system.spawn(move || {
                rx.recv().unwrap();
                reader.say("reader");
            }));
            drop(system.spawn(move || {
                tx.send(()).unwrap();
                writer.say("writer");
            }));
        })
    });
    both(&seen, "reader writer", "writer reader");
}

#[test]
fn k20_any_waiter_is_matched() {
    let seen = all(|| {
        local(|system, words| {
            let (tx, rx) = channel();
            for name in ["one", "two"] {
                let (rx, words) = (rx.clone(), words.clone());
                drop(system.spawn(move || {
                    let got: u32 = rx.recv().unwrap();
                    words.say(format!("{name}:{got}"));
                }));
            }
            drop(system.spawn(move || {
                yield_now();
                tx.send(1).unwrap();
                tx.send(2).unwrap();
            }));
        })
    });
    assert!(seen.iter().any(|said| said.contains("one:1")), "{seen:?}");
    assert!(seen.iter().any(|said| said.contains("two:1")), "{seen:?}");
}

#[test]
fn any_ready_alternative_is_taken_and_any_of_equal_timers_fires_first() {
    let seen = all(|| {
        local(|system, words| {
            let ((one_tx, one), (two_tx, two)) = (bounded(1), bounded(1));
            let words = words.clone();
            drop(system.spawn(move || {
                one_tx.send("one").unwrap();
                two_tx.send("two").unwrap();
                let first = Select::new().recv(&one, |v| v).recv(&two, |v| v).wait();
                words.say(first.unwrap().unwrap());
            }));
        })
    });
    both(&seen, "one", "two");
    let seen = all(|| {
        local(|system, words| {
            for name in ["one", "two"] {
                let words = words.clone();
                drop(system.spawn(move || {
                    sleep(Duration::from_secs(1));
                    words.say(name);
                }));
            }
        })
    });
    both(&seen, "one two", "two one");
}

#[test]
fn work_that_has_not_started_runs_on_either_core() {
    let seen: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
    let cores = seen.clone();
    Explorer::new().runs(300).check(move || {
        let system = System::new(2).unwrap();
        let cores = cores.clone();
        let own = system.spawn(move || {
            let here = leno_kernel::current().map(core_of);
            let there = spawn(|| leno_kernel::current().map(core_of)).join().unwrap();
            cores.lock().unwrap().insert(usize::from(here == there));
        });
        own.join().unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), [0, 1].into());
}

/// The core's number is the first part of a coroutine's.
fn core_of(co: leno_kernel::Co) -> String {
    co.to_string().split('.').next().unwrap_or_default().to_owned()
}
