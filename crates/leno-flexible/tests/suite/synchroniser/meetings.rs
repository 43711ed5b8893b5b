use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_explore::{Explorer, thread};
use leno_flexible::System;
use leno_flexible::synchroniser::{NWay, Rendezvous};

use super::{explore, wait};

#[test]
fn f84_whoever_comes_first_waits_then_both_leave_with_what_the_other_brought() {
    explore(|| {
        let system = System::new();
        let place: Rendezvous<u32, char> = Rendezvous::new(&system, "place");
        let own = place.clone();
        let accepts = thread::spawn("accepts", move || own.accept(7).unwrap());
        assert_eq!(place.enter('x').unwrap(), 7);
        assert_eq!(accepts.join().unwrap(), 'x');
    });
}

#[test]
fn f84_nobody_leaves_alone() {
    explore(|| {
        let system = System::new();
        let place: Rendezvous = Rendezvous::new(&system, "place");
        let come = Arc::new(AtomicUsize::new(0));
        let (own, other) = (place.clone(), come.clone());
        let accepts = thread::spawn("accepts", move || {
            other.fetch_add(1, SeqCst);
            own.accept(()).unwrap();
            assert_eq!(other.load(SeqCst), 2, "it left before the other came");
        });
        thread::yield_now();
        come.fetch_add(1, SeqCst);
        place.enter(()).unwrap();
        assert_eq!(come.load(SeqCst), 2, "it left before the other came");
        accepts.join().unwrap();
    });
}

#[test]
fn f84_many_on_both_sides_meet_in_pairs() {
    explore(|| {
        let system = System::new();
        let place: Rendezvous<usize, usize> = Rendezvous::new(&system, "place");
        let accepts: Vec<_> = (0..3)
            .map(|n| {
                let own = place.clone();
                thread::spawn("accepts", move || (n, own.accept(n).unwrap()))
            })
            .collect();
        let enters: Vec<_> = (0..3)
            .map(|n| {
                let own = place.clone();
                thread::spawn("enters", move || (own.enter(n).unwrap(), n))
            })
            .collect();
        let join = |all: Vec<leno_kernel::JoinHandle<_>>| {
            let mut pairs: Vec<_> = all.into_iter().map(|own| own.join().unwrap()).collect();
            pairs.sort_unstable();
            pairs
        };
        // Both sides tell the same story.
        assert_eq!(join(accepts), join(enters));
    });
}

fn master_and_entries(n: usize) {
    let system = System::new();
    let place: NWay<(), usize> = NWay::new(&system, "place", n);
    let entered = Arc::new(AtomicUsize::new(0));
    let entries: Vec<_> = (0..n)
        .map(|number| {
            let (own, entered) = (place.clone(), entered.clone());
            thread::spawn("entry", move || {
                entered.fetch_add(1, SeqCst);
                own.enter(number).unwrap();
            })
        })
        .collect();
    let mut met = place.accept(()).unwrap();
    assert_eq!(entered.load(SeqCst), n, "the master has passed too early");
    met.sort_unstable();
    assert_eq!(met, (0..n).collect::<Vec<_>>());
    entries.into_iter().for_each(|own| own.join().unwrap());
}

#[test]
fn f85_the_master_passes_after_exactly_n_entries() {
    for n in [1, 2, 5] {
        explore(move || master_and_entries(n));
    }
}

/// With three entries and a master, and everyone through: also by whatever order the coroutines of the
/// system are picked in, which exploring decides.
#[test]
fn e5_everyone_gets_through_in_two_thousand_runs() {
    let seen = Explorer::new().runs(2_000).run(|| master_and_entries(3));
    assert_eq!(seen.unwrap_or_else(|failure| panic!("{failure}")).runs(), 2_000);
}

#[test]
fn e5_in_any_order_of_the_queue() {
    for last in [false, true] {
        Explorer::new().runs(500).check(move || {
            let pick = move |waiting: &[_]| if last { waiting.len() - 1 } else { 0 };
            let system = System::builder().schedule(pick).build();
            let place: NWay<(), usize> = NWay::new(&system, "place", 3);
            let entries = [0, 1, 2].map(|n| {
                let own = place.clone();
                thread::spawn("entry", move || own.enter(n).unwrap())
            });
            assert_eq!(place.accept(()).unwrap().len(), 3);
            entries.into_iter().for_each(|own| own.join().unwrap());
        });
    }
}

#[test]
fn f85_entries_are_served_in_order_of_arrival_and_groups_do_not_mix() {
    Explorer::new().runs(300).check(|| {
        let system = System::new();
        let place: NWay<(), u64> = NWay::new(&system, "place", 2);
        let entries: Vec<_> = (1..=4)
            .map(|at| {
                let own = place.clone();
                thread::spawn("entry", move || {
                    wait(at);
                    own.enter(at).unwrap();
                })
            })
            .collect();
        let groups: Arc<Mutex<Vec<Vec<u64>>>> = Arc::default();
        let masters: Vec<_> = [6, 7]
            .map(|at| {
                let (own, groups) = (place.clone(), groups.clone());
                thread::spawn("master", move || {
                    wait(at);
                    let group = own.accept(()).unwrap();
                    groups.lock().unwrap().push(group);
                })
            })
            .into();
        masters.into_iter().chain(entries).for_each(|own| own.join().unwrap());
        assert_eq!(*groups.lock().unwrap(), [[1, 2], [3, 4]]);
        // Two masters at once: one is served to the end before the other.
        let masters = [0; 2].map(|_| {
            let own = place.clone();
            thread::spawn("master", move || own.accept(()).unwrap())
        });
        wait(1);
        for n in 1..=4 {
            place.enter(n).unwrap();
        }
        let mut groups = masters.map(|own| own.join().unwrap());
        groups.sort();
        assert_eq!(groups, [[1, 2], [3, 4]]);
    });
}

#[test]
#[should_panic(expected = "the n-way rendezvous 'nobody' is of nobody")]
fn f85_n_is_at_least_one() {
    let _ = NWay::<(), ()>::new(&System::new(), "nobody", 0);
}
