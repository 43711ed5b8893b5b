//! Listening is a point: who waits may be met while it listens, or find that it has to park, as the schedule says.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_channel::shared::channel;
use leno_explore::{Explorer, thread};
use leno_kernel::LocalSystem;
use leno_kernel::layer::{listen, parks};

/// What a program comes to under every schedule.
fn outcomes<T: Ord + Send + 'static>(program: fn() -> T) -> BTreeSet<T> {
    let seen: Arc<Mutex<BTreeSet<T>>> = Arc::default();
    let all = seen.clone();
    let run = move || {
        let outcome = program();
        all.lock().unwrap().insert(outcome);
    };
    let explored = Explorer::new().exhaustive().most_interruptions(3).run(run);
    explored.unwrap_or_else(|failure| panic!("{failure}"));
    std::mem::take(&mut *seen.lock().unwrap())
}

/// How a coroutine and a thread have met.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Meeting {
    /// The thread has met the coroutine, which stood in line.
    is_in_line: bool,
    /// How often the coroutine has parked.
    parks: u32,
    /// It went on while the thread was about to wake it.
    is_early: bool,
}

/// A coroutine and a thread meet at a rendezvous; the coroutine receives or sends.
fn meets(receives: bool) -> Meeting {
    let (tx, rx) = channel();
    let (tries, takes) = (tx.clone(), rx.clone());
    let has_tried = Arc::new(AtomicBool::new(false));
    let tried = has_tried.clone();
    let other = thread::spawn("other", move || {
        // At a rendezvous only one in line can be met at once.
        let is_met = match receives {
            true => tries.try_send(1).is_ok(),
            false => takes.try_recv().is_ok(),
        };
        tried.store(true, SeqCst);
        match receives {
            _ if is_met => {}
            true => tries.send(1).unwrap(),
            false => drop(takes.recv().unwrap()),
        }
        is_met
    });
    let system = LocalSystem::new();
    let waits = system.spawn(move || {
        let before = parks();
        match receives {
            true => drop(rx.recv().unwrap()),
            false => tx.send(1).unwrap(),
        }
        (parks() - before, !has_tried.load(SeqCst))
    });
    system.run().unwrap();
    let (parks, is_early) = waits.join().unwrap();
    Meeting { is_in_line: other.join().unwrap(), parks, is_early }
}

#[track_caller]
fn meets_in_all_ways(seen: &BTreeSet<Meeting>) {
    let has = |is_it: fn(&&Meeting) -> bool, what| {
        assert!(seen.iter().any(|m| is_it(&m)), "{what}: {seen:?}")
    };
    has(|m| m.is_in_line && m.parks == 0, "met while it listens");
    has(|m| m.is_in_line && m.parks == 1, "met when it parks");
    has(|m| !m.is_in_line && m.parks == 0, "meets the other");
    has(|m| m.is_in_line && m.is_early, "has left when its bell is rung");
}

#[test]
fn one_that_receives_is_met_while_it_listens_or_parks() {
    meets_in_all_ways(&outcomes(|| meets(true)));
}

#[test]
fn one_that_sends_is_met_while_it_listens_or_parks() {
    meets_in_all_ways(&outcomes(|| meets(false)));
}

/// What one look sees of what a thread does.
fn looks(in_coroutine: bool) -> bool {
    let flag = Arc::new(AtomicBool::new(false));
    let own = flag.clone();
    let other = thread::spawn("other", move || own.store(true, SeqCst));
    let look = move || !flag.load(SeqCst) && listen(|| flag.load(SeqCst));
    let found = if in_coroutine {
        let system = LocalSystem::new();
        let found = system.spawn(look);
        system.run().unwrap();
        found.join().unwrap()
    } else {
        look()
    };
    other.join().unwrap();
    found
}

#[test]
fn a_coroutine_and_a_thread_see_what_others_do_while_they_listen_or_do_not() {
    let both = BTreeSet::from([false, true]);
    assert_eq!(outcomes(|| looks(true)), both, "a coroutine");
    assert_eq!(outcomes(|| looks(false)), both, "a thread");
}
