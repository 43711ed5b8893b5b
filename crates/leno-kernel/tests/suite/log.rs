//! What a log says.

use std::time::Duration;

use leno_kernel::log::{What, mark};
use leno_kernel::policy::SeededRandom;
use leno_kernel::{
    LocalSystem, Options, Reason, System, park, sleep, spawn, spawn_local, yield_now,
};

fn program(system: &LocalSystem) {
    drop(system.spawn_with(&Options::new().name("cook"), || {
        mark("begins to cook");
        let dish = spawn_local(|| sleep(Duration::from_millis(5)));
        yield_now();
        dish.join().unwrap();
    }));
    system.run().unwrap();
}

fn logged() -> LocalSystem {
    LocalSystem::builder().virtual_time().log(100).build()
}

#[test]
fn a_log_tells_what_happened_in_order() {
    let system = logged();
    program(&system);
    let text = system.log().to_string();
    let told: Vec<_> =
        text.lines().map(|line| line.split(" at ").next().unwrap().to_owned()).collect();
    assert_eq!(
        told,
        [
            "0.000000 s outside spawns 'cook'",
            "0.000000 s outside wakes 'cook' (Spawned)",
            "0.000000 s 'cook' runs",
            "0.000000 s 'cook' says: begins to cook",
            "0.000000 s 'cook' spawns coroutine 2",
            "0.000000 s 'cook' wakes coroutine 2 (Spawned)",
            "0.000000 s 'cook' yields",
            "0.000000 s coroutine 2 runs",
            "0.000000 s coroutine 2 parks: sleeping",
            "0.000000 s 'cook' runs",
            "0.000000 s 'cook' parks: for the end of coroutine 2",
            "0.005000 s outside wakes coroutine 2 (Time)",
            "0.005000 s coroutine 2 runs",
            "0.005000 s coroutine 2 wakes 'cook' (Unparked)",
            "0.005000 s coroutine 2 ends: returned",
            "0.005000 s 'cook' runs",
            "0.005000 s 'cook' ends: returned",
        ],
        "{text}"
    );
}

#[test]
fn the_same_run_gives_the_same_text() {
    let text = || {
        let system =
            LocalSystem::builder().virtual_time().policy(SeededRandom::new(3)).log(1_000).build();
        for _ in 0..5 {
            drop(system.spawn(|| (0..3).for_each(|_| yield_now())));
        }
        program(&system);
        system.log().to_string()
    };
    let first = text();
    assert_eq!(first, text());
    assert!(first.lines().count() > 40, "{first}");
}

#[test]
fn only_the_last_events_are_kept_and_names_stay() {
    let system = LocalSystem::builder().virtual_time().log(3).build();
    drop(system.spawn_with(&Options::new().name("waiter"), || {
        park(Reason::Passive);
    }));
    for _ in 0..100 {
        drop(system.spawn(|| ()));
    }
    system.run().unwrap_err();
    let log = system.log();
    assert_eq!(log.events().len(), 3);
    assert!(log.lost() > 100);
    assert!(log.to_string().starts_with("(401 older"), "{log}");
    let alive = system.report().alive[0].co;
    assert_eq!(log.name(alive).unwrap().as_str(), Some("waiter"));
}

#[test]
fn without_a_log_there_is_none() {
    let system = LocalSystem::new();
    program(&system);
    assert_eq!(system.log().events().len(), 0);
    assert!(!leno_kernel::log::is_on());
}

#[test]
fn the_logs_of_several_cores_are_merged_by_time() {
    let system = System::builder().cores(2).log(10_000).build().unwrap();
    let all = system.spawn(|| {
        let parts: Vec<_> = (0..50).map(|_| spawn(|| yield_now())).collect();
        parts.into_iter().for_each(|part| part.join().unwrap());
    });
    all.join().unwrap();
    system.wait().unwrap();
    let log = system.log();
    let times: Vec<_> = log.events().iter().map(|event| event.at).collect();
    assert!(times.is_sorted());
    let ended = |what: &What| matches!(what, What::Ended(_));
    assert_eq!(log.events().iter().filter(|event| ended(&event.what)).count(), 51);
}
