//! Policies in real systems: the same program, other orders; choices written down and followed.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use leno_kernel::policy::{
    ChoiceLog, EarliestDeadline, Fifo, Lifo, NextSlot, Policy, Priority, Recorded, Recording,
    Replay, SeededRandom,
};
use leno_kernel::{LocalSystem, Options, Time, sleep, yield_now};

/// Three coroutines of three turns each, under a policy: whose turn it was.
fn order(policy: impl Policy + 'static) -> String {
    let log: Rc<RefCell<Vec<String>>> = Rc::default();
    let system = LocalSystem::builder().policy(policy).virtual_time().build();
    for (name, priority, deadline) in [("a", 1, 30), ("b", 3, 20), ("c", 2, 10)] {
        let log = log.clone();
        let options = Options::new().name(name).priority(priority);
        let options = options.deadline(Time::START + Duration::from_secs(deadline));
        drop(system.spawn_with(&options, move || {
            for _ in 0..3 {
                log.borrow_mut().push(name.to_owned());
                yield_now();
            }
        }));
    }
    let report = system.run().unwrap();
    assert_eq!(report.returned, 3);
    log.take().concat()
}

#[test]
fn s82_three_policies_give_three_orders() {
    assert_eq!(order(Fifo::default()), "abcabcabc");
    assert_eq!(order(Lifo::default()), "cbacbacba");
    assert_eq!(order(Priority::with_step(1_000_000)), "bbbcccaaa");
    assert_eq!(order(EarliestDeadline::default()), "cccbbbaaa");
    assert_eq!(order(NextSlot::default()), "abcabcabc");
}

#[test]
fn the_same_seed_gives_the_same_order_and_others_differ() {
    let orders: Vec<_> = (0..20).map(|seed| order(SeededRandom::new(seed))).collect();
    let again: Vec<_> = (0..20).map(|seed| order(SeededRandom::new(seed))).collect();
    assert_eq!(orders, again);
    let different: std::collections::BTreeSet<_> = orders.into_iter().collect();
    assert!(different.len() > 10, "{different:?}");
}

#[test]
fn a_recorded_run_can_be_replayed_from_its_text() {
    let recording = Recording::new();
    let first = order(Recorded::new(SeededRandom::new(7), &recording));
    let text = recording.log().to_string();
    let log: ChoiceLog = text.parse().unwrap();
    assert_eq!(order(Replay::new(log)), first, "{text}");
}

#[test]
fn which_of_several_timers_fires_first_is_the_policys_choice() {
    let fire = |seed| {
        let log: Rc<RefCell<String>> = Rc::default();
        let system = LocalSystem::builder().policy(SeededRandom::new(seed)).virtual_time().build();
        for name in ["a", "b", "c"] {
            let log = log.clone();
            drop(system.spawn(move || {
                sleep(Duration::from_secs(1));
                log.borrow_mut().push_str(name);
            }));
        }
        system.run().unwrap();
        log.take()
    };
    let orders: std::collections::BTreeSet<_> = (0..50).map(fire).collect();
    assert_eq!(orders.len(), 6, "all orders of three: {orders:?}");
}
