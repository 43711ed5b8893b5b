//! Spawning very many that do nearly nothing: all at once and summed up, or as a tree.

use std::time::Instant;

use async_executor::Executor;
use futures_lite::future::block_on;

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Turn};
use crate::outcome::Verdict;
use crate::{peers, subject};

pub const SPAWN_SUM: Bench = Bench {
    name: "spawn-sum",
    unit: "ns",
    about: "spawn a million on one core, join each, sum what they return; per spawn",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let mut contenders = subject::spawn_sum();
        contenders.extend([tokio_sum(), async_executor_sum(), may_sum()]);
        fixed(scale.pick(100_000, 1_000_000), contenders)
    },
    judge: |outcome| ahead(outcome, &["async-executor", "tokio"]),
};

pub const SKYNET: Bench = Bench {
    name: "skynet",
    unit: "ns",
    about: "a tree of ten children each, down to a million leaves, on two cores; per leaf",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let mut contenders = subject::skynet();
        contenders.extend([tokio_skynet(), async_executor_skynet()]);
        fixed(scale.pick(100_000, 1_000_000), contenders)
    },
    judge: |outcome| ahead(outcome, &["async-executor", "tokio"]),
};

fn fixed(n: u64, contenders: Vec<Contender>) -> Vec<Case> {
    let load = Load::Fixed(n);
    vec![Case { parameter: None, load, isolated: false, rounds: Some(7), contenders }]
}

fn ahead(outcome: &crate::outcome::Outcome, peers: &[&str]) -> Vec<Verdict> {
    peers.iter().filter_map(|peer| outcome.at_most(None, "leno", peer, 1.0)).collect()
}

/// What `n` leaves of skynet sum up to.
pub fn expected(n: u64) -> u64 {
    n * (n - 1) / 2
}

fn tokio_sum() -> Contender {
    let runtime = peers::tokio_on_this_thread();
    Contender::measured("tokio", move |n| {
        let runtime = runtime.as_ref().map_err(Clone::clone)?;
        let start = Instant::now();
        let sum = runtime.block_on(async {
            let all: Vec<_> = (0..n).map(|i| tokio::spawn(async move { i })).collect();
            let mut sum = 0;
            for one in all {
                sum += one.await.expect("its body does not panic");
            }
            sum
        });
        assert_eq!(sum, expected(n));
        Ok(Turn::ns(start.elapsed(), n))
    })
}

fn async_executor_sum() -> Contender {
    Contender::timed("async-executor", |n| {
        let executor = Executor::new();
        let sum = block_on(executor.run(async {
            let all: Vec<_> = (0..n).map(|i| executor.spawn(async move { i })).collect();
            let mut sum = 0;
            for one in all {
                sum += one.await;
            }
            sum
        }));
        assert_eq!(sum, expected(n));
    })
}

fn may_sum() -> Contender {
    Contender::timed("may", |n| {
        peers::may_on_one_worker();
        let creator = may::go!(move || {
            let all: Vec<_> = (0..n).map(|i| may::go!(move || i)).collect();
            all.into_iter().map(|one| one.join().expect("its body does not panic")).sum::<u64>()
        });
        assert_eq!(creator.join().expect("its body does not panic"), expected(n));
    })
}

type Sum = std::pin::Pin<Box<dyn Future<Output = u64> + Send>>;

fn tokio_skynet() -> Contender {
    fn tree(first: u64, size: u64) -> Sum {
        Box::pin(async move {
            if size == 1 {
                return first;
            }
            let part = size / 10;
            let all: Vec<_> = (0..10).map(|i| tokio::spawn(tree(first + i * part, part))).collect();
            let mut sum = 0;
            for one in all {
                sum += one.await.expect("its body does not panic");
            }
            sum
        })
    }
    Contender::timed("tokio", |n| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
        let runtime = runtime.expect("two threads can be had");
        let root = runtime.spawn(tree(0, n));
        assert_eq!(runtime.block_on(root).expect("its body does not panic"), expected(n));
    })
}

fn async_executor_skynet() -> Contender {
    fn tree(executor: &'static Executor<'static>, first: u64, size: u64) -> Sum {
        Box::pin(async move {
            if size == 1 {
                return first;
            }
            let part = size / 10;
            let child = |i| executor.spawn(tree(executor, first + i * part, part));
            let all: Vec<_> = (0..10).map(child).collect();
            let mut sum = 0;
            for one in all {
                sum += one.await;
            }
            sum
        })
    }
    Contender::timed("async-executor", |n| {
        let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
        let (stop, stopped) = stoppable();
        let helper = std::thread::spawn(move || block_on(executor.run(stopped)));
        let root = executor.spawn(tree(executor, 0, n));
        assert_eq!(block_on(executor.run(root)), expected(n));
        stop.wake();
        helper.join().expect("it does not panic");
    })
}

/// Something that another thread can end.
fn stoppable() -> (std::sync::Arc<Stop>, impl Future<Output = ()> + Send) {
    let stop = std::sync::Arc::new(Stop::default());
    let own = stop.clone();
    let future = std::future::poll_fn(move |context| {
        let mut state = own.0.lock().expect("nobody panics");
        if state.0 {
            return std::task::Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        std::task::Poll::Pending
    });
    (stop, future)
}

#[derive(Default)]
struct Stop(std::sync::Mutex<(bool, Option<std::task::Waker>)>);

impl Stop {
    fn wake(&self) {
        let mut state = self.0.lock().expect("nobody panics");
        state.0 = true;
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }
}
