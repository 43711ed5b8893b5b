//! Work for a system of several cores that spawns, sleeps and joins, and comes to [`SUM`].

use std::time::Duration;

use leno_kernel::{JoinHandle, System, sleep, spawn, spawn_future};

pub(crate) const SUM: i32 = 13;

pub(crate) fn sum_on(system: &System) -> JoinHandle<i32> {
    system.spawn(|| {
        let parts: Vec<_> = (0..4).map(|n| spawn(move || n * 2)).collect();
        let more = spawn_future(async { 1 });
        sleep(Duration::from_millis(3));
        let sum: i32 = parts.into_iter().map(|part| part.join().unwrap()).sum();
        sum + more.join().unwrap()
    })
}
