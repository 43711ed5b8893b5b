//! Someone who never gives control away.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use leno::kernel::{LocalSystem, Options};
use leno::process::{Budget, Sink, preemptible};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "preempt",
    shows: "A hog computes and never waits. A scheduler of ten lines gives everyone a budget, so that\n\
            the others get their turns; the units are counted, and the same again the next time.",
    run: preempt,
    read: "leno::process, examples 20_scheduler to 25_real_time",
};

#[preemptible]
fn hog(laps: u64) -> u64 {
    let mut sum = 0u64;
    for n in 0..laps {
        sum = sum.wrapping_mul(31).wrapping_add(n);
    }
    sum
}

#[preemptible]
fn small(count: &Cell<u32>) {
    for _ in 0..50 {
        count.set(count.get() + 1);
    }
}

/// In slices of so much: how many the hog took, and how far the others were when it ended.
fn schedule(budget: Budget, laps: u64) -> Result<(u32, u32), String> {
    let system = LocalSystem::builder().preemptive().build();
    let done = system.spawn(move || {
        let (all, count) = (Sink::new(), Rc::new(Cell::new(0)));
        let greedy = all.spawn(&Options::new().name("hog"), move || hog(laps))?;
        for _ in 0..10 {
            let count = count.clone();
            drop(all.spawn(&Options::new(), move || small(&count))?);
        }
        let (mut slices, mut others) = (0, 0);
        while let Some(co) = all.next() {
            let is_hog = greedy.co() == Some(co);
            let back = co.attach(budget).map_err(|error| error.to_string());
            slices += u32::from(is_hog);
            if is_hog && back.is_ok_and(|attached| !attached.is_preempted()) {
                others = count.get();
            }
        }
        Ok::<_, leno::kernel::SpawnError>((slices, others))
    });
    system.run().map_err(|error| error.to_string())?;
    done.join().map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

fn preempt() -> Result<String, String> {
    let first = schedule(Budget::units(1_000), 99_950)?;
    let again = schedule(Budget::units(1_000), 99_950)?;
    say!("99,950 laps in slices of 1,000: {} slices, and again {}", first.0, again.0);
    expect(&(first, again), &((100, 500), (100, 500)))?;
    let start = Instant::now();
    let (slices, others) = schedule(Budget::time(Duration::from_millis(1)), 60_000_000)?;
    let took = start.elapsed();
    say!("60 million laps in slices of a millisecond: {slices} slices in {} ms", took.as_millis());
    expect(&(slices > 1, others), &(true, 500))?;
    Ok(format!("a hog was preempted {} times, ten others ended meanwhile", slices - 1))
}
