//! leno in `spawn-sum` and `skynet`.

use leno::kernel::{self, JoinHandle, LocalSystem, System};

use crate::bench::spawn::expected;
use crate::contender::Contender;

pub fn spawn_sum() -> Vec<Contender> {
    let sum = |all: Vec<JoinHandle<u64>>| {
        all.into_iter().map(|one| one.join().expect("its body does not panic")).sum::<u64>()
    };
    let run = move |n: u64, spawn: fn(u64) -> JoinHandle<u64>| {
        let system = LocalSystem::new();
        let total = system.spawn(move || sum((0..n).map(spawn).collect()));
        system.run().expect("all end");
        assert_eq!(total.join().expect("its body does not panic"), expected(n));
    };
    vec![
        Contender::timed("leno", move |n| run(n, |i| kernel::spawn_local(move || i))),
        Contender::timed("leno futures", move |n| {
            run(n, |i| kernel::spawn_local_future(async move { i }));
        }),
    ]
}

pub fn skynet() -> Vec<Contender> {
    fn tree(first: u64, size: u64) -> u64 {
        if size == 1 {
            return first;
        }
        let part = size / 10;
        let all: Vec<_> =
            (0..10).map(|i| kernel::spawn(move || tree(first + i * part, part))).collect();
        all.into_iter().map(|one| one.join().expect("its body does not panic")).sum()
    }
    vec![Contender::timed("leno", |n| {
        let system = System::new(2).expect("two threads can be had");
        let root = system.spawn(move || tree(0, n));
        assert_eq!(root.join().expect("its body does not panic"), expected(n));
    })]
}
