//! Two cores, a scheduler on each, and one queue of processes between them (Madsen 2021). A lock makes
//! the queue a critical region. What has started stays on its core: its stack does.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use leno::kernel::{Options, yield_now};
use leno::process::{Budget, Core, Locked, Sink, preemptible};

type Process = Box<dyn FnOnce() + Send>;
type Queue = Locked<VecDeque<Process>>;

/// Takes a process from the queue when it has nothing better to do, and gives each that it has its
/// budget in turn; ends when there are none.
fn schedule(queue: &Queue) -> u32 {
    let (own, mut started) = (Sink::new(), 0);
    loop {
        if let Some(process) = queue.with(VecDeque::pop_front) {
            drop(own.spawn(&Options::new(), process));
            started += 1;
        }
        match own.try_next() {
            Some(process) => drop(process.attach(Budget::units(100))),
            None if own.members() == 0 => return started,
            // All of them wait.
            None => yield_now(),
        }
    }
}

#[preemptible]
fn is_prime(n: u64) -> bool {
    for d in 2..n {
        if d * d > n {
            return true;
        }
        if n.is_multiple_of(d) {
            return false;
        }
    }
    n == 2
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let primes = Arc::new(AtomicU64::new(0));
    let processes = (0..50u64).map(|hundred| {
        let primes = primes.clone();
        let process: Process = Box::new(move || {
            let own = (hundred * 100..hundred * 100 + 100).filter(|n| *n > 1 && is_prime(*n));
            primes.fetch_add(own.count() as u64, SeqCst);
        });
        process
    });
    let queue: Arc<Queue> = Arc::new(Locked::new(processes.collect()));
    let cores = [Core::fork("c1")?, Core::fork("c2")?];
    let schedulers = cores.each_ref().map(|core| {
        let queue = queue.clone();
        core.attach(move || schedule(&queue))
    });
    let started = schedulers.map(|scheduler| scheduler.join().expect("it does not panic"));
    println!("{} processes on two cores", started.iter().sum::<u32>());
    println!("{} primes below 5000", primes.load(SeqCst));
    Ok(())
}
