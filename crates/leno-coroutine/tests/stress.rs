//! Real threads, each creating, resuming, dropping and draining coroutines at random.
//!
//! Every coroutine follows a [`plan::Plan`] its resumer knows too, so each value that crosses a switch
//! is checked. Every body and step holds a [`plan::Counted`] value; at the end as many have been dropped
//! as were made, and all stacks are back. A watcher reads the status of coroutines that other
//! threads run meanwhile.
//!
//! `LENO_STRESS_SECONDS` says how long (default 1), `LENO_SEED` which run. The interleaving of the
//! threads is the system's, so a seed repeats what each thread does, not when.
//!
//! Not in `suite`: it counts the stacks of its process.
#![forbid(unsafe_code)]

#[path = "stress/plan.rs"]
mod plan;
#[path = "stress/random.rs"]
mod random;
#[path = "stress/watch.rs"]
mod watch;
#[path = "stress/worker.rs"]
mod worker;

use std::panic::resume_unwind;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use leno_coroutine::stack_figures;

use plan::{DROPPED, MADE};
use worker::{Limit, Worker};

const WORKERS: u64 = 4;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

#[test]
fn threads_at_random_lose_nothing() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64);
    let seed = number("LENO_SEED").unwrap_or_else(|| if cfg!(miri) { 1 } else { now() });
    let seconds = number("LENO_STRESS_SECONDS").unwrap_or(1);
    println!("LENO_SEED={seed} LENO_STRESS_SECONDS={seconds}");
    let before = stack_figures();
    let limit = Limit(Instant::now() + Duration::from_secs(seconds));

    let (senders, receivers): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| sync_channel(32)).unzip();
    let (watcher, statuses) = channel();
    let (steps, seen) = thread::scope(|s| {
        let watching = s.spawn(|| watch::watch(statuses));
        let workers = (0..).zip(receivers).map(|(i, parcels)| {
            let (others, watcher) = (senders.clone(), watcher.clone());
            let limit = &limit;
            s.spawn(move || Worker::new(seed.wrapping_add(i), parcels, others, watcher).run(limit))
        });
        let workers: Vec<_> = workers.collect();
        drop((senders, watcher));
        let join = |worker: thread::ScopedJoinHandle<'_, usize>| match worker.join() {
            Ok(steps) => steps,
            Err(payload) => resume_unwind(payload),
        };
        let steps: usize = workers.into_iter().map(join).sum();
        (steps, watching.join().expect("the watcher saw nothing wrong"))
    });

    let made = MADE.load(SeqCst);
    println!("{steps} steps, {seen} coroutines, {made} values");
    assert_eq!(DROPPED.load(SeqCst), made, "destructors did not run, or ran twice");
    assert_eq!(stack_figures().live, before.live, "stacks were lost");
}
