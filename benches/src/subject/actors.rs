//! leno in `entry-call` and `entry-reply`: a process, and a coroutine that calls it.

use std::time::Instant;

use leno::kernel::LocalSystem;
use leno::process::{Plan, process};

use crate::bench::actors::{BATCH, served};
use crate::contender::{Contender, Failure};

#[derive(Default)]
struct Counter(u64);

#[process]
impl Counter {
    #[entry]
    fn add(&mut self, by: u64) {
        self.0 += by;
    }

    #[entry]
    fn add_and_get(&mut self, by: u64) -> u64 {
        self.0 += by;
        self.0
    }
}

pub fn entry_call() -> Vec<Contender> {
    vec![with(BATCH)]
}

pub fn entry_reply() -> Vec<Contender> {
    vec![with(1)]
}

fn with(batch: u64) -> Contender {
    Contender::measured("leno", move |n| {
        let system = LocalSystem::new();
        let (counter, body) = Plan::new().prepare(Counter::default());
        drop(system.spawn(move || body.run()));
        let turn = system.spawn(move || {
            let (mut count, start) = (0, Instant::now());
            for number in 1..=n {
                if number % batch == 0 {
                    let reply = counter.add_and_get(number).map_err(Failure::failed)?;
                    count = reply.wait().map_err(Failure::failed)?;
                } else {
                    counter.add(number).map_err(Failure::failed)?;
                }
            }
            served(n, count, start.elapsed())
        });
        system.run().map_err(Failure::failed)?;
        turn.join().map_err(Failure::failed)?
    })
}
