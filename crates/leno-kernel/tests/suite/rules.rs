//! Where the works differ: what leno does.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

use leno_kernel::layer::ledger::{self, End, Knower, Side};
use leno_kernel::{
    LocalSystem, Object, Options, Outcome, Quiescence, Reason, Start, Wake, current, exit, park,
    try_spawn_local, unpark, yield_now,
};

/// Counts how often it is dropped.
struct Count(Rc<Cell<u32>>);

impl Drop for Count {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn c4_one_at_a_time_in_a_system_and_systems_in_parallel() {
    let both = Arc::new(Barrier::new(2));
    let alone = |both: Arc<Barrier>| {
        let system = LocalSystem::new();
        let inside = Rc::new(AtomicUsize::new(0));
        for _ in 0..5 {
            let inside = inside.clone();
            drop(system.spawn(move || {
                for _ in 0..100 {
                    assert_eq!(inside.fetch_add(1, SeqCst), 0, "another one runs");
                    std::hint::black_box(());
                    inside.fetch_sub(1, SeqCst);
                    yield_now();
                }
            }));
        }
        // A coroutine of each system meets one of the other: both run at the same time.
        drop(system.spawn(move || both.wait()));
        assert_eq!(system.run().unwrap().returned, 6);
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let both = both.clone();
            scope.spawn(|| alone(both));
        }
    });
}

#[test]
fn c18_draining_and_reaping_clean_up_and_are_reported_apart() {
    let dropped = Rc::new(Cell::new(0));
    let fill = |system: &LocalSystem| {
        for reason in [Reason::Passive, Reason::Hungry(Object::local())] {
            let guard = Count(dropped.clone());
            drop(system.spawn(move || {
                let _guard = guard;
                while park(reason) != Wake::Exit {}
                exit();
            }));
        }
    };
    let system = LocalSystem::new();
    fill(&system);
    system.run().unwrap_err();
    let drained = system.drain();
    assert_eq!((drained.exited, drained.removed, dropped.get()), (2, 0, 2));
    let system = LocalSystem::builder().at_quiescence(Quiescence::Reap).build();
    fill(&system);
    let reaped = system.run().unwrap();
    assert_eq!((reaped.exited, reaped.removed, dropped.get()), (1, 1, 4));
}

#[test]
fn c19_an_unpark_is_a_permit_whatever_its_target_does() {
    let system = LocalSystem::new();
    let turns = system.spawn(|| {
        // While it runs, twice: one permit.
        unpark(current().unwrap());
        unpark(current().unwrap());
        assert_eq!(park(Reason::Passive), Wake::Unparked);
        yield_now();
        park(Reason::Passive)
    });
    system.run().unwrap_err();
    turns.unpark();
    system.run().unwrap();
    assert_eq!(turns.join().unwrap(), Wake::Unparked);
    // While it is ready, or not started.
    let ready = system.spawn(|| park(Reason::Passive));
    ready.unpark();
    system.run().unwrap();
    assert_eq!(ready.join().unwrap(), Wake::Unparked);
}

#[test]
fn c20_a_handle_is_no_knowledge_and_dropping_it_cancels_nobody() {
    let system = LocalSystem::builder().at_quiescence(Quiescence::Reap).build();
    let ended = Rc::new(Cell::new(0));
    let count = ended.clone();
    drop(system.spawn(move || {
        yield_now();
        count.set(count.get() + 1);
    }));
    let waits = system.spawn(|| {
        let channel = Object::local();
        let hungry = move || {
            ledger::learn(Knower::Co(current().unwrap()), End { channel, side: Side::Receiving });
            while park(Reason::Hungry(channel)) != Wake::Exit {}
            exit();
        };
        let eager = Options::new().start(Start::Eager);
        let handle = try_spawn_local(&eager, hungry).unwrap();
        // The handle is kept, and yet nobody can ever send.
        assert_eq!(ledger::sweep(), 1);
        handle.join().unwrap_err().outcome()
    });
    system.run().unwrap();
    assert_eq!(ended.get(), 1, "its handle was dropped, and it ended by itself");
    assert_eq!(waits.join().unwrap(), Some(Outcome::Starved));
}
