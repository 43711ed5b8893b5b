//! What dumps and reports say of those who wait at channels and locks.

use std::rc::Rc;

use leno_channel::{Mutex, Named, Semaphore, WaitGroup, bounded, channel, shared};
use leno_kernel::dump::Depth;
use leno_kernel::{LocalSystem, Options, Reason, State, System, spawn_local, yield_now};

fn named(name: &'static str) -> Options {
    Options::new().name(name)
}

/// What a dump says of a coroutine: what it does, and who could wake it; without times and numbers.
fn said(text: &str, name: &str) -> (String, String) {
    let start = format!("  '{name}' ");
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&start));
    let first = lines.next().unwrap_or_else(|| panic!("no {name} in\n{text}"));
    let does = first.split(" is ").nth(1).unwrap().rsplit_once(" for ").unwrap().0;
    let (does, _) = does.rsplit_once(" (#").unwrap_or((does, ""));
    let second = lines.next().unwrap().trim().strip_prefix("to be woken by ").unwrap_or("");
    let woken = second.split(" (#").next().unwrap();
    (does.to_owned(), woken.to_owned())
}

#[test]
fn k6_hungry_and_blocked_coroutines_are_listed_with_their_channels() {
    let system = LocalSystem::new();
    let (tx, rx) = channel::<u32>().named("orders");
    let (full, never) = bounded::<u32>(0).named("bills");
    let others = (tx.clone(), tx, never.clone(), never);
    drop(system.spawn_with(&named("cook"), move || rx.recv().map(drop)).unwrap());
    drop(system.spawn_with(&named("waiter"), move || full.send(1).map_err(drop)).unwrap());
    let report = system.run().unwrap_err().report;
    let of = |name: &str| {
        let found = report.alive.iter().find(|alive| alive.name.as_str() == Some(name));
        found.expect("it is alive").state
    };
    assert!(matches!(of("cook"), State::Parked(Reason::Hungry(_))), "{report}");
    assert!(matches!(of("waiter"), State::Parked(Reason::Blocked(_))), "{report}");
    let text = system.dump(Depth::States).to_string();
    let (does, woken) = said(&text, "cook");
    assert_eq!((&*does, &*woken), ("waiting to receive from channel 'orders'", "2 senders"));
    let (does, woken) = said(&text, "waiter");
    assert_eq!((&*does, &*woken), ("waiting to send to channel 'bills'", "2 receivers"));
    drop(others);
}

#[test]
fn a_circle_through_a_mutex_and_a_join_is_named() {
    let system = LocalSystem::new();
    let till = Rc::new(Mutex::local(()).named("till"));
    let holds = move || {
        let _guard = till.lock().unwrap();
        let own = till.clone();
        let body = move || drop(own.lock());
        let waits = leno_kernel::try_spawn_local(&named("waits"), body).unwrap();
        waits.join().unwrap();
    };
    drop(system.spawn_with(&named("holds"), holds).unwrap());
    let deadlock = system.run().unwrap_err();
    let circle = "a circle: 'holds' waits for 'waits' waits for 'holds'";
    assert!(deadlock.to_string().ends_with(circle), "{deadlock}");
    let text = system.dump(Depth::States).to_string();
    assert!(text.ends_with(&format!("{circle}\n")), "{text}");
    assert_eq!(said(&text, "waits"), ("waiting for lock 'till'".into(), "'holds'".into()));
}

#[test]
fn a_mutex_says_who_holds_it_and_no_longer_when_it_is_free() {
    let system = LocalSystem::new();
    let mutex = Rc::new(Mutex::local(0).named("shared"));
    let own = mutex.clone();
    let first = system.spawn_with(&named("first"), move || {
        let guard = own.lock().unwrap();
        yield_now();
        drop(guard);
        leno_kernel::park(Reason::Passive);
    });
    let own = mutex.clone();
    let second = system.spawn_future_with(&named("second"), async move {
        let _guard = own.lock_async().await;
        std::future::pending::<()>().await;
    });
    let own = mutex.clone();
    drop(system.spawn_with(&named("third"), move || drop(own.lock())).unwrap());
    system.run().unwrap_err();
    let text = system.dump(Depth::States).to_string();
    assert_eq!(said(&text, "third").1, "'second'", "{text}");
    drop((first, second));
}

#[test]
fn semaphores_and_wait_groups_have_no_holder_to_name() {
    let system = LocalSystem::new();
    let doors = Semaphore::local(0).named("doors");
    let group = WaitGroup::local().named("crew");
    let worker = group.worker();
    drop(system.spawn_with(&named("outside"), move || doors.acquire().map(drop)).unwrap());
    drop(system.spawn_with(&named("foreman"), move || group.wait()).unwrap());
    system.run().unwrap_err();
    let text = system.dump(Depth::States).to_string();
    let expected = ("waiting for lock 'doors'".to_owned(), "whoever holds it".to_owned());
    assert_eq!(said(&text, "outside"), expected);
    assert_eq!(said(&text, "foreman").0, "waiting for lock 'crew'");
    drop(worker);
}

#[test]
fn shared_channels_are_named_across_cores() {
    let system = System::new(2).unwrap();
    let (tx, rx) = shared::channel::<u32>();
    let rx = rx.named("far");
    let waits = system.spawn_with(&named("hungry"), move || rx.recv());
    loop {
        let text = system.dump(Depth::States).to_string();
        if text.contains("'hungry'") && text.contains("waiting to receive") {
            let (does, woken) = said(&text, "hungry");
            assert_eq!((&*does, &*woken), ("waiting to receive from channel 'far'", "1 sender"));
            break;
        }
        std::thread::yield_now();
    }
    tx.send(1).unwrap();
    assert_eq!(waits.join().unwrap(), Ok(1));
}

/// A dump that is taken while a channel is in use waits for nothing and breaks nothing.
#[test]
fn a_dump_from_inside_sees_the_others() {
    let system = LocalSystem::builder().name("inside").build();
    let (tx, rx) = channel::<u32>();
    drop(system.spawn(move || rx.recv().map(drop)));
    let seen = system.spawn(move || {
        drop(spawn_local(|| ()));
        yield_now();
        let dump = leno_kernel::dump_all(Depth::States).to_string();
        tx.send(1).unwrap();
        dump
    });
    system.run().unwrap();
    let seen = seen.join().unwrap();
    assert!(seen.contains("waiting to receive from channel #"), "{seen}");
}
