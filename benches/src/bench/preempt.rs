//! Preemption: what attaching costs, what preempting costs, and what a neighbour of a hog sees.

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Turn};
use crate::subject;

/// Which of the sorted gaps is the result.
const PERCENTILES: [u64; 2] = [50, 99];

pub const ATTACH: Bench = Bench {
    name: "attach",
    unit: "ns",
    about: "attach a coroutine with a budget, and get it back when it suspends",
    parameter: "",
    chart: Chart::Dots,
    cases: |_| {
        let mut contenders = subject::attach();
        contenders.push(corosensei());
        Case::only(contenders)
    },
    judge: |_| vec![],
};

pub const COST: Bench = Bench {
    name: "preemption",
    unit: "ns",
    about: "how long one that computes is away when it is preempted, and attached again at once",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        // Each is the middle of all holes of a turn; more turns, or longer ones, would say the same for minutes.
        let load = Load::Fixed(scale.pick(50, 100));
        let contenders = subject::preemption();
        vec![Case { parameter: None, load, isolated: false, rounds: Some(7), contenders }]
    },
    judge: |_| vec![],
};

pub const GAP: Bench = Bench {
    name: "hog-gap",
    unit: "us",
    about: "how long the neighbour of one that computes waits for its turn, at a quantum of 1 ms",
    parameter: "percentile",
    chart: Chart::Dots,
    cases: |scale| {
        let case = |percentile| {
            let load = Load::Fixed(scale.pick(20, 300));
            let contenders = subject::gap(percentile);
            Case { parameter: Some(percentile), load, isolated: false, rounds: Some(3), contenders }
        };
        PERCENTILES.into_iter().map(case).collect()
    },
    judge: |outcome| {
        // In vain, one that is never preempted would be as good as the others.
        let at = |p| {
            let sees = ["leno", "leno anywhere"];
            sees.map(|name| outcome.at_most(Some(p), name, "leno neither", 0.1))
        };
        PERCENTILES.into_iter().flat_map(at).flatten().collect()
    },
};

/// The gap of this percentile, in microseconds.
pub fn percentile(mut gaps: Vec<u64>, percentile: u64) -> crate::contender::Result {
    gaps.sort_unstable();
    let at = (gaps.len() as u64 * percentile / 100) as usize;
    let gap = gaps.get(at).ok_or_else(|| Failure::failed("the neighbour had no turn"))?;
    Ok(Turn::of(*gap as f64 / 1000.0))
}

/// A floor: resume and suspend, without a budget, a scheduler, or states.
fn corosensei() -> Contender {
    use corosensei::{Coroutine, CoroutineResult};
    let mut coroutine: Coroutine<(), (), ()> = Coroutine::new(|yielder, ()| {
        loop {
            yielder.suspend(());
        }
    });
    Contender::timed("corosensei", move |n| {
        for _ in 0..n {
            assert!(matches!(coroutine.resume(()), CoroutineResult::Yield(())));
        }
    })
}
