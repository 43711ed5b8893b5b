//! The curve: what passing control to the next of `k` coroutines costs, for `k` from 2 to a
//! million. Stadler (2011) found it flat while stacks stay in the cache, with knees where caches
//! and stacks run out; what must not appear is a step.

use super::{Bench, Case, Chart, Load, Scale, rings};
use crate::contender::Contender;
use crate::external::{self, Tool};
use crate::number;
use crate::outcome::{Outcome, Verdict};

/// Stacks that leno's shared mode has in this bench.
pub const SHARED_STACKS: u64 = 100;

const SIZES: [u64; 9] = [2, 16, 64, 256, 1_000, 4_000, 10_000, 100_000, 1_000_000];

/// Where external programs are asked as well: they take seconds a turn.
const EXTERNAL_SIZES: [u64; 3] = [2, 1_000, 100_000];

/// Sizes around the number of shared stacks, where that mode begins to copy.
const SHARED_SIZES: [u64; 3] = [SHARED_STACKS, SHARED_STACKS * 3 / 2, SHARED_STACKS * 2];

/// From here on making the members takes seconds, and fewer rounds have to do.
const LARGE: u64 = 100_000;

pub const HOP: Bench = Bench {
    name: "hop",
    unit: "ns per hop",
    about: "pass control to the next coroutine of a ring",
    parameter: "coroutines",
    chart: Chart::Curve,
    cases,
    judge,
};

fn cases(scale: Scale) -> Vec<Case> {
    let largest = scale.pick(100_000, 1_000_000);
    let mut sizes: Vec<u64> = SIZES.into_iter().chain(SHARED_SIZES).collect();
    sizes.sort_unstable();
    sizes.into_iter().filter(|&k| k <= largest).map(|k| case(k, scale)).collect()
}

fn case(k: u64, scale: Scale) -> Case {
    let passes = (scale.pick(500_000, 2_000_000) / k).max(3);
    let mut contenders: Vec<Contender> = rings::all(k, |v| v + 1);
    if !SIZES.contains(&k) {
        contenders.retain(|c| c.name == "leno shared");
    }
    if EXTERNAL_SIZES.contains(&k) {
        contenders.extend(Tool::ALL.map(|t| external::contender(t, "hop", k, passes.max(10) * k)));
    }
    Case {
        parameter: Some(k),
        load: Load::Fixed(passes * k),
        // No ring inherits what larger ones left behind in pools and heaps, and a contender that
        // does not survive a limit of the system ends alone.
        isolated: true,
        rounds: (k >= LARGE).then_some(if k >= 1_000_000 { 3 } else { 5 }),
        contenders,
    }
}

fn judge(outcome: &Outcome) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for k in [16, 64, 256] {
        verdicts.extend(outcome.at_most(Some(k), "leno", "corosensei", 0.3));
    }
    verdicts.extend(outcome.at_most(Some(1_000), "leno", "corosensei", 0.5));
    let curve = outcome.curve("leno");
    verdicts.extend(largest_over_best(&curve));
    verdicts.extend([10_000, 100_000].into_iter().filter_map(|k| decade(&curve, k)));
    verdicts.extend(knee(&outcome.curve("leno shared")));
    verdicts
}

fn at(curve: &[(f64, f64)], k: u64) -> Option<f64> {
    curve.iter().find(|p| p.0 == k as f64).map(|p| p.1)
}

fn largest_over_best(curve: &[(f64, f64)]) -> Option<Verdict> {
    let best = curve.iter().map(|p| p.1).min_by(f64::total_cmp)?;
    let value = at(curve, 1_000_000)? / best;
    Some(Verdict {
        text: "leno at 1,000,000 <= 24 x its best size".into(),
        measured: number::ratio(value),
        met: Some(value <= 24.0),
    })
}

/// Beyond the caches ten times as many coroutines may at most double the price of a hop.
fn decade(curve: &[(f64, f64)], from: u64) -> Option<Verdict> {
    let value = at(curve, from * 10)? / at(curve, from)?;
    let (low, high) = (number::grouped(from), number::grouped(from * 10));
    Some(Verdict {
        text: format!("leno at {high} <= 2 x at {low}"),
        measured: number::ratio(value),
        met: Some(value <= 2.0),
    })
}

/// Shared stacks begin to copy when there are more coroutines than stacks, and copy at every hop
/// at twice as many: the knee of the curve lies between.
fn knee(curve: &[(f64, f64)]) -> Option<Verdict> {
    let plain = at(curve, SHARED_STACKS)?;
    let knee = curve.iter().find(|p| p.0 >= SHARED_STACKS as f64 && p.1 > 1.5 * plain)?.0 as u64;
    Some(Verdict {
        text: format!("leno shared rises between {SHARED_STACKS} and {}", 2 * SHARED_STACKS),
        measured: format!("by {}", number::grouped(knee)),
        met: Some(knee <= 2 * SHARED_STACKS),
    })
}
