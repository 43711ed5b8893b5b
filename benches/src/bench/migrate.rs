//! Moving suspended coroutines from one thread to another and back, by the depth of their stacks.
//! Stadler (2011) needed 6 µs and 0.05 µs more per frame. Peers have nothing to compare: those
//! whose coroutines change threads do so unasked, inside their schedulers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Bench, Case, Chart, Load, Scale};
use crate::outcome::{Outcome, Verdict};
use crate::stats::straight_line;
use crate::{number, subject};

/// Coroutines that change threads together, so that neither the clock nor the waiting of one
/// thread for the other is part of the figure.
pub const BATCH: u64 = 64;

pub const MIGRATE: Bench = Bench {
    name: "migrate",
    unit: "ns",
    about: "take a suspended coroutine over from another thread and resume it once",
    parameter: "frames",
    chart: Chart::Curve,
    cases: |scale: Scale| [1, 2, 4, 8, 16, 32, 64].map(|depth| case(depth, scale)).into(),
    judge,
};

fn case(depth: usize, scale: Scale) -> Case {
    Case {
        parameter: Some(depth as u64),
        load: Load::Fixed(BATCH * scale.pick(50, 500)),
        isolated: false,
        rounds: None,
        contenders: subject::migrate(depth),
    }
}

fn judge(outcome: &Outcome) -> Vec<Verdict> {
    let fitted = straight_line(&outcome.curve("leno"));
    let verdict = fitted.map(|(base, slope)| Verdict {
        text: "leno by frames f".into(),
        measured: format!("{} + {} f ns", number::measured(base), number::measured(slope)),
        met: None,
    });
    verdict.into_iter().collect()
}

/// Lets two threads do `step` in turn, `steps` times together, the other thread first. Returns how
/// long the steps took, without the waiting between them.
#[cfg_attr(not(feature = "leno"), expect(dead_code, reason = "only leno migrates"))]
pub fn relay(steps: u64, step: impl Fn() + Sync) -> Duration {
    let done = AtomicU64::new(0);
    let side = |parity: u64| {
        let mut took = Duration::ZERO;
        for next in (parity..steps).step_by(2) {
            while done.load(Ordering::Acquire) != next {
                // The other thread may have no core to run on.
                thread::yield_now();
            }
            let start = Instant::now();
            step();
            took += start.elapsed();
            done.store(next + 1, Ordering::Release);
        }
        took
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| side(0));
        side(1) + other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
