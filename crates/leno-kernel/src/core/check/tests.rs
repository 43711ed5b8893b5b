//! Each check finds what it is there for, and finds nothing under many schedules.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::super::Parts;
use super::*;
use crate::policy::{Hint, SeededRandom, Why};
use crate::window::Title;
use crate::{LocalSystem, Object, Options, Outcome, RealTime, Reason, mailbox};

/// A core with three coroutines that are ready.
fn three() -> (Core, [Co; 3]) {
    let on_failure = crate::user::SystemHook::default();
    let title = Title { name: "test".into(), cores: 1, object: Object::shared(), on_failure };
    let address = mailbox::open().expect("there are cores");
    let platform = Box::new(RealTime::new());
    let parts = Parts {
        platform,
        policy: None,
        steps: None,
        log: None,
        team: None,
        title: Arc::new(title),
        is_preemptive: false,
    };
    let core = Core::new(address, parts);
    let site = core::panic::Location::caller();
    let spawn = |_| {
        let handle = core.spawn_closure(&Options::new(), site, || ()).expect("there is room");
        handle.co().expect("it is on its core")
    };
    let all = [0; 3].map(spawn);
    core.check_counts();
    core.check_all();
    (core, all)
}

/// The check finds something, which begins with this id.
#[track_caller]
fn finds(id: &str, check: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("nothing was found");
    let text = panic.downcast_ref::<String>().expect("it says what");
    assert!(text.starts_with(id), "{text}");
}

#[test]
fn k3_one_that_runs_between_turns_is_found() {
    let (core, [first, ..]) = three();
    core.entry.running.set(Running::Future(first));
    finds("K3", || core.check_counts());
    core.entry.running.set(Running::Nobody);
}

#[test]
fn k3_one_that_was_picked_and_does_not_run_is_found() {
    let (core, [first, ..]) = three();
    finds("K3", || core.check_alone(first));
}

#[test]
fn k3_a_second_one_that_runs_is_found() {
    let (core, [first, second, _]) = three();
    for co in [first, second] {
        core.tasks.get(co).expect("alive").become_(State::Running);
    }
    core.check_alone(first);
    core.entry.running.set(Running::Future(second));
    finds("K3", || core.check_alone(first));
    core.entry.running.set(Running::Nobody);
    finds("K3", || core.check_all());
}

#[test]
fn f38_one_that_is_in_the_queue_twice_is_found() {
    let (core, [first, ..]) = three();
    let enter_again = || {
        core.ready.order().borrow_mut().ready(first, Why::Yielded, Hint::Back, || unreachable!());
    };
    enter_again();
    finds("F38", || core.check_counts());
    // Even if it stands for another one, so that the count is right.
    assert!(core.ready.order().borrow_mut().pick().is_some());
    assert!(core.ready.order().borrow_mut().pick().is_some());
    enter_again();
    core.check_counts();
    finds("F38", || core.check_all());
}

#[test]
fn k5_one_that_is_in_two_places_is_found() {
    let (core, _) = three();
    core.tasks.parked.count(Reason::Passive, 1);
    finds("K5", || core.check_counts());
    finds("K5", || core.check_all());
}

#[test]
fn k5_one_that_is_nowhere_is_found() {
    let (core, [first, ..]) = three();
    assert_eq!(core.ready.order().borrow_mut().pick(), Some(first));
    core.ready.begin_turn();
    core.check_counts();
    finds("K5", || core.check_all());
    core.tasks.get(first).expect("alive").become_(State::Finished(Outcome::Exited));
    finds("K5", || core.check_all());
}

/// Parks, wakes, yields, joins and exits in many orders; every switch is checked on the way.
#[test]
fn k5_everyone_is_in_one_place_under_many_schedules() {
    let seeds = if cfg!(miri) { 2 } else { 60 };
    for seed in 0..seeds {
        let system = LocalSystem::builder().policy(SeededRandom::new(seed)).build();
        play(&system);
        let report = system.drain();
        // Three were cancelled before they had a child.
        assert_eq!((report.spawned, report.alive.len()), (38, 0), "seed {seed}");
    }
    let system = LocalSystem::new();
    (0..20).for_each(|_| play(&system));
}

/// Twenty players, each with a child; some are cancelled.
fn play(system: &LocalSystem) {
    let player = |n: usize| {
        move || {
            let child = crate::spawn_local_future(async move { n });
            for _ in 0..n % 5 {
                crate::yield_now();
            }
            if n.is_multiple_of(3) {
                crate::sleep(core::time::Duration::from_nanos(1));
            }
            child.join().expect("it returns")
        }
    };
    let players: Vec<_> = (0..20).map(|n| system.spawn(player(n))).collect();
    players.iter().step_by(7).for_each(crate::JoinHandle::cancel);
    let parked = system.spawn(|| crate::park(Reason::Passive));
    parked.unpark();
    let report = system.run().expect("all end");
    assert!(report.alive.is_empty());
}
