//! leno in `cores`: schedulers on several cores, with one queue or with one each. A job that is taken from
//! a queue is run as a coroutine.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use leno::kernel::Options;
use leno::process::{Budget, Core, Locked, Sink};

use crate::bench::cores::compute;
use crate::contender::{Contender, Failure, Turn};

type Queue = Arc<Locked<VecDeque<u64>>>;

pub fn cores(cores: u64) -> Vec<Contender> {
    vec![with("leno", cores, false), with("leno one queue", cores, true)]
}

fn with(name: &'static str, cores: u64, is_shared: bool) -> Contender {
    Contender::measured(name, move |n| {
        let one = |at: u64| Core::fork(format!("core {at}")).map_err(Failure::failed);
        let threads: Vec<Core> = (0..cores).map(one).collect::<Result<_, _>>()?;
        let queues: Vec<Queue> = if is_shared {
            let queue = Arc::new(Locked::new((0..n).collect()));
            (0..cores).map(|_| queue.clone()).collect()
        } else {
            let part = |at| (0..n).filter(|job| job % cores == at).collect();
            (0..cores).map(|at| Arc::new(Locked::new(part(at)))).collect()
        };
        let start = Instant::now();
        let run = |(core, queue): (&Core, Queue)| core.attach(move || schedule(&queue));
        let mains: Vec<_> = threads.iter().zip(queues).map(run).collect();
        let mut done = 0;
        for main in mains {
            done += main.join().map_err(Failure::failed)?;
        }
        let elapsed = start.elapsed();
        if done == n { Ok(Turn::ns(elapsed, n)) } else { Err(Failure::failed("jobs were lost")) }
    })
}

/// The scheduler of a core; how many jobs it has run.
fn schedule(queue: &Queue) -> u64 {
    let sink = Sink::new();
    let mut done = 0;
    while let Some(job) = queue.with(VecDeque::pop_front) {
        drop(sink.spawn(&Options::new(), move || std::hint::black_box(compute(job))));
        while let Some(co) = sink.try_next() {
            done += u64::from(co.attach(Budget::Unlimited).is_ok_and(|back| !back.is_active()));
        }
    }
    done
}
