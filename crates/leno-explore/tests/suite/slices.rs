//! Budgets of time in programs that are explored: when they end is decided, not measured.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use leno_explore::Explorer;
use leno_kernel::{Budget, LocalSystem, Options, Sink, charge};

/// Two that count, in slices of an hour, and may be preempted between looking and writing.
fn count(times: u32) -> u32 {
    let counter = Rc::new(Cell::new(0));
    let system = LocalSystem::builder().preemptive().build();
    let own = counter.clone();
    drop(system.spawn(move || {
        let sink = Sink::new();
        for _ in 0..2 {
            let counter = own.clone();
            let counts = move || {
                for _ in 0..times {
                    let before = counter.get();
                    (0..100).for_each(|_| charge(1));
                    counter.set(before + 1);
                }
            };
            drop(sink.spawn(&Options::new(), counts).unwrap());
        }
        while let Some(co) = sink.next() {
            co.attach(Budget::time(Duration::from_secs(3600))).unwrap();
        }
    }));
    system.run().unwrap();
    counter.get()
}

#[test]
fn m22_ends_of_time_slices_are_choices() {
    let failure = Explorer::new().random(1).run(|| assert_eq!(count(2), 4)).unwrap_err();
    assert!(failure.to_string().contains("that its slice is over"), "{failure}");
    let again = Explorer::new().replay(failure.shortest().clone()).run(|| assert_eq!(count(2), 4));
    assert_eq!(again.unwrap_err().to_string().lines().next(), failure.to_string().lines().next());
    // All there are: either one goes on, or is preempted, at its 65th unit.
    let summary = Explorer::new().exhaustive().run(|| assert!(count(1) > 0)).unwrap();
    assert_eq!((summary.is_complete(), summary.runs()), (true, 4));
}
