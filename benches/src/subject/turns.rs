//! leno in `yield`.

use std::sync::Arc;

use leno::kernel::{LocalSystem, Options, yield_now};

use crate::bench::rings::{STACK, finished};
use crate::bench::turns::member;
use crate::contender::{Contender, Failure};
use crate::lap::Lap;

pub fn turns(k: u64) -> Vec<Contender> {
    let with = |name, make: fn() -> LocalSystem| {
        Contender::measured(name, move |n| {
            let (system, lap) = (make(), Arc::new(Lap::of(k)));
            let options = Options::new().stack_size(STACK);
            for _ in 0..k {
                let lap = lap.clone();
                let body = move || lap.run(n / k, || (), yield_now);
                drop(system.spawn_with(&options, body).map_err(Failure::failed)?);
            }
            system.run().map_err(Failure::failed)?;
            finished(&lap, n)
        })
    };
    let coroutines = with("leno", LocalSystem::new);
    // What happens is written down: two events a turn.
    let logged = with("leno logged", || LocalSystem::builder().log(1_000).build());
    let futures = Contender::measured("leno futures", move |n| {
        let (system, lap) = (LocalSystem::new(), Arc::new(Lap::of(k)));
        for _ in 0..k {
            drop(system.spawn_future(member(lap.clone(), n / k)));
        }
        system.run().map_err(Failure::failed)?;
        finished(&lap, n)
    });
    vec![coroutines, logged, futures]
}
