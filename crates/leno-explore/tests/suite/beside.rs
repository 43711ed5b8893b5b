//! Programs that are explored at the same time, on threads of their own: none notices the others.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use leno_explore::{Explorer, Failure};
use leno_kernel::{Reason, System, park};

use crate::sum::{SUM, sum_on};

/// A program whose cores wait, work, and are stopped in the middle of it.
fn fails(seed: u64) -> Failure {
    let program = || {
        let system = System::new(2).unwrap();
        drop(system.spawn(|| park(Reason::Io)));
        let sum = sum_on(&system);
        assert_eq!(sum.join().unwrap(), SUM);
        panic!("to have a log");
    };
    Explorer::new().random(seed).runs(1).shrinks(0).run(program).unwrap_err()
}

/// Cores begin and end all the time, in worlds and outside.
#[test]
fn what_is_explored_at_the_same_time_is_not_disturbed() {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for other in 0..3 {
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Relaxed) {
                    if other == 0 {
                        let system = System::new(2).unwrap();
                        let handles: Vec<_> = (0..4).map(|n| system.spawn(move || n)).collect();
                        handles.into_iter().for_each(|handle| assert!(handle.join().is_ok()));
                    } else {
                        drop(fails(other));
                    }
                }
            });
        }
        let outcome = std::panic::catch_unwind(|| {
            for seed in 0..200 {
                let (first, second) = (fails(seed), fails(seed));
                assert_eq!(first.token(), second.token(), "seed {seed}");
                assert_eq!(first.log().to_string(), second.log().to_string(), "seed {seed}");
            }
        });
        is_over.store(true, Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}
