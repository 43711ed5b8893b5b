//! Work on one core and on two: one queue for both, or a queue for each.

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Turn};
use crate::number;
use crate::outcome::{Outcome, Verdict};
use crate::subject;

const CORES: [u64; 2] = [1, 2];

pub const SPEED_UP: Bench = Bench {
    name: "cores",
    unit: "ns",
    about: "run one of many coroutines that each compute a microsecond",
    parameter: "cores",
    chart: Chart::Curve,
    cases: |scale| {
        let case = |cores| {
            let mut contenders = subject::cores(cores);
            contenders.push(rayon(cores));
            let load = Load::Fixed(scale.pick(4_000, 40_000));
            Case { parameter: Some(cores), load, isolated: false, rounds: None, contenders }
        };
        CORES.into_iter().map(case).collect()
    },
    judge: |outcome| {
        let mut verdicts: Vec<Verdict> = ["leno", "leno one queue", "rayon"]
            .into_iter()
            .filter_map(|name| speed_up(outcome, name))
            .collect();
        verdicts.extend(outcome.at_most(Some(2), "leno", "leno one queue", 1.0));
        verdicts
    },
};

/// By how much two cores are faster than one; that they are is wanted, by how much is the machine's.
fn speed_up(outcome: &Outcome, name: &str) -> Option<Verdict> {
    let at = |cores| outcome.case(Some(cores))?.median(name);
    let value = at(1)? / at(2)?;
    Some(Verdict {
        text: format!("{name} on two cores >= 1 x on one"),
        measured: number::ratio(value),
        met: Some(value >= 1.0),
    })
}

/// About a microsecond of work.
#[inline(never)]
pub fn compute(seed: u64) -> u64 {
    (0..300).fold(seed | 1, |x: u64, _| {
        let x = x ^ x << 13;
        let x = x ^ x >> 7;
        std::hint::black_box(x ^ x << 17)
    })
}

fn rayon(cores: u64) -> Contender {
    use rayon::prelude::{IntoParallelIterator, ParallelIterator};
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cores as usize).build();
    Contender::measured("rayon", move |n| {
        let pool = pool.as_ref().map_err(Failure::failed)?;
        let start = std::time::Instant::now();
        let sum = pool.install(|| (0..n).into_par_iter().map(compute).reduce(|| 0, |a, b| a ^ b));
        std::hint::black_box(sum);
        Ok(Turn::ns(start.elapsed(), n))
    })
}
