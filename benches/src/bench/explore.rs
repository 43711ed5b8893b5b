//! How long one schedule of a small program takes: random schedules, the same program for all.
//!
//! Both programs have threads that meet at a lock or a channel, and both explorers interrupt before each
//! of their operations. How many operations a channel is made of differs: shuttle's is made of its own
//! lock and condition, leno's is one.

use super::{Bench, Case, Chart, Load};
use crate::contender::Contender;
use crate::outcome::Verdict;
use crate::subject;

/// How many values each of the producers puts in.
pub const VALUES: u32 = 5;
/// How many jobs the workers share.
pub const JOBS: u32 = 6;
/// How many workers there are.
pub const WORKERS: usize = 3;

pub const BUFFER: Bench = Bench {
    name: "explore-buffer",
    unit: "ns",
    about: "one random schedule of two producers and a consumer at a channel of two; per schedule",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| cases(scale.pick(500, 5_000), subject::explore_buffer(), buffer),
    judge: ahead,
};

pub const QUEUE: Bench = Bench {
    name: "explore-queue",
    unit: "ns",
    about: "one random schedule of three workers that take jobs from a locked queue; per schedule",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| cases(scale.pick(500, 5_000), subject::explore_queue(), queue),
    judge: ahead,
};

fn cases(n: u64, mut contenders: Vec<Contender>, program: fn()) -> Vec<Case> {
    contenders.push(Contender::timed("shuttle", move |n| {
        shuttle::check_random(program, n as usize);
    }));
    let load = Load::Fixed(n);
    vec![Case { parameter: None, load, isolated: false, rounds: Some(7), contenders }]
}

fn ahead(outcome: &crate::outcome::Outcome) -> Vec<Verdict> {
    outcome.at_most(None, "leno", "shuttle", 1.0).into_iter().collect()
}

fn buffer() {
    let (tx, rx) = shuttle::sync::mpsc::sync_channel(2);
    let producers = [0, 1].map(|_| {
        let tx = tx.clone();
        shuttle::thread::spawn(move || (0..VALUES).for_each(|n| tx.send(n).expect("it is open")))
    });
    drop(tx);
    let consumer = shuttle::thread::spawn(move || rx.iter().count());
    producers.into_iter().for_each(|producer| producer.join().expect("it does not panic"));
    assert_eq!(consumer.join().expect("it does not panic"), 2 * VALUES as usize);
}

fn queue() {
    use shuttle::sync::{Arc, Mutex};
    let jobs = Arc::new(Mutex::new((0..JOBS).collect::<Vec<_>>()));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let jobs = jobs.clone();
            shuttle::thread::spawn(move || {
                let mut done = 0;
                loop {
                    let job = jobs.lock().expect("nobody panics").pop();
                    if job.is_none() {
                        return done;
                    }
                    done += 1;
                }
            })
        })
        .collect();
    let done: u32 = workers.into_iter().map(|worker| worker.join().expect("it ends")).sum();
    assert_eq!(done, JOBS);
}
