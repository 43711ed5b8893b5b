//! Those whom nobody can ever wake are removed, while others run and when nobody can.

use std::cell::Cell;
use std::rc::Rc;

use leno_kernel::layer::ledger::{self, End, Knower, Side, Verdict};
use leno_kernel::{
    LocalSystem, Object, Options, Outcome, Quiescence, Reason, Start, Wake, current, exit, park,
    try_spawn_local, yield_now,
};

fn reaping() -> LocalSystem {
    LocalSystem::builder().at_quiescence(Quiescence::Reap).build()
}

/// Parks at a channel until it is to exit.
fn hungry(channel: Object) {
    while park(Reason::Hungry(channel)) != Wake::Exit {}
    exit();
}

fn know(end: End) {
    ledger::learn(Knower::Co(current().unwrap()), end);
}

/// Two that each wait for what only the other could send.
fn circle(dropped: &Rc<Cell<u32>>) {
    struct Count(Rc<Cell<u32>>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let ends = [Object::local(), Object::local()];
    for (own, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
        let guard = Count(dropped.clone());
        let body = move || {
            let _guard = guard;
            know(End { channel: own, side: Side::Receiving });
            know(End { channel: other, side: Side::Sending });
            hungry(own);
        };
        drop(try_spawn_local(&Options::new().start(Start::Eager), body).unwrap());
    }
}

#[test]
fn a_circle_is_removed_on_request() {
    let system = reaping();
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    drop(system.spawn(move || {
        circle(&count);
        let verdicts = ledger::verdicts();
        assert!(verdicts.iter().all(|(_, verdict)| *verdict == Verdict::Unreachable));
        assert_eq!((verdicts.len(), ledger::sweep()), (2, 2));
        yield_now();
        assert_eq!((count.get(), ledger::verdicts().len()), (2, 0));
    }));
    let report = system.run().unwrap();
    assert_eq!((report.removed, report.returned, report.zombies), (2, 1, 0));
}

#[test]
fn a_program_that_makes_circles_for_ever_stays_small() {
    let system = reaping();
    let dropped = Rc::new(Cell::new(0));
    let count = dropped.clone();
    drop(system.spawn(move || {
        let mut most = 0;
        for made in 1..=1_000 {
            circle(&count);
            yield_now();
            most = most.max(2 * made - count.get());
        }
        assert!(most < 300, "{most} were alive at a time");
    }));
    let report = system.run().unwrap();
    assert_eq!((report.removed, dropped.get()), (2_000, 2_000));
}

#[test]
fn what_the_world_could_wake_is_a_zombie() {
    let system = reaping();
    let waiting = system.spawn(|| {
        let channel = Object::local();
        know(End { channel, side: Side::Receiving });
        ledger::learn(Knower::World, End { channel, side: Side::Sending });
        assert_eq!(ledger::sweep(), 0);
        hungry(channel);
    });
    let report = system.run().unwrap();
    assert_eq!((report.removed, report.zombies, report.exited), (0, 1, 1));
    assert_eq!(waiting.join().unwrap_err().outcome(), Some(Outcome::Exited));
}

#[test]
fn outside_a_system_there_is_no_ledger() {
    let end = End { channel: Object::local(), side: Side::Sending };
    ledger::learn(Knower::World, end);
    assert!(!ledger::forget(Knower::World, end));
    assert_eq!((ledger::sweep(), ledger::verdicts().len()), (0, 0));
}
