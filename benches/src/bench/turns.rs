//! Turns that a scheduler gives: `yield` among a few. As `hop`, but by systems with everything a
//! scheduler has to look at between two turns.

use std::sync::Arc;

use async_executor::LocalExecutor;
use futures_lite::future::block_on;

use super::{Bench, Case, Chart, Load};
use crate::bench::rings::{self, finished};
use crate::contender::Contender;
use crate::external::{self, Tool};
use crate::lap::{Lap, warm_up};
use crate::outcome::Verdict;
use crate::subject;

const SIZES: [u64; 2] = [2, 100];

pub const YIELD: Bench = Bench {
    name: "yield",
    unit: "ns",
    about: "yield to the other coroutines of one core; per turn",
    parameter: "coroutines",
    chart: Chart::Curve,
    cases: |scale| {
        let case = |k| {
            let mut contenders = subject::turns(k);
            let peers = rings::all(k, |v| v + 1).into_iter();
            contenders.extend(peers.filter(|c| ["may", "tokio"].contains(&c.name)));
            contenders.push(async_executor(k));
            let n = scale.pick(200_000, 2_000_000);
            let tools = [Tool::Go, Tool::Boost, Tool::Java];
            contenders.extend(tools.map(|t| external::contender(t, "hop", k, n)));
            let load = Load::Fixed(scale.pick(100_000, 1_000_000));
            Case { parameter: Some(k), load, isolated: false, rounds: None, contenders }
        };
        SIZES.into_iter().map(case).collect()
    },
    judge: |outcome| {
        let peers = ["may", "tokio", "async-executor", "go", "boost", "java"];
        let at = |k| peers.map(|peer| outcome.at_most(Some(k), "leno", peer, 1.0));
        SIZES.into_iter().flat_map(at).flatten().collect::<Vec<Verdict>>()
    },
};

/// The life of a member that is a future.
pub async fn member(lap: Arc<Lap>, rounds: u64) {
    for _ in 0..warm_up(rounds) {
        futures_lite::future::yield_now().await;
    }
    lap.arrive();
    while !lap.begun() {
        futures_lite::future::yield_now().await;
    }
    for _ in 0..rounds {
        futures_lite::future::yield_now().await;
    }
    lap.finish();
    while !lap.over() {
        futures_lite::future::yield_now().await;
    }
}

fn async_executor(k: u64) -> Contender {
    Contender::measured("async-executor", move |n| {
        let lap = Arc::new(Lap::of(k));
        let executor = LocalExecutor::new();
        block_on(executor.run(async {
            let one = |_| executor.spawn(member(lap.clone(), n / k));
            let all: Vec<_> = (0..k).map(one).collect();
            for one in all {
                one.await;
            }
        }));
        finished(&lap, n)
    })
}
