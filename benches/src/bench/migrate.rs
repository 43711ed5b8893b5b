//! Moving a suspended coroutine from one thread to another and back, by the depth of its stack.
//! Stadler (2011) needed 6 µs and 0.05 µs more per frame. Peers have nothing to compare: what is
//! measured beside leno is the bare hand-off between the two threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Bench, Case, Chart, Load, Scale};
use crate::contender::{Contender, Turn};
use crate::outcome::{Outcome, Verdict};
use crate::stats::straight_line;
use crate::{number, subject};

pub const MIGRATE: Bench = Bench {
    name: "migrate",
    unit: "ns",
    about: "take a suspended coroutine over from another thread and resume it once",
    parameter: "frames",
    chart: Chart::Curve,
    cases: |scale: Scale| [1, 4, 16, 64].map(|depth| case(depth, scale)).into(),
    judge,
};

fn case(depth: usize, scale: Scale) -> Case {
    let mut contenders = subject::migrate(depth);
    contenders.push(hand_off());
    Case {
        parameter: Some(depth as u64),
        load: Load::Fixed(scale.pick(2_000, 20_000)),
        isolated: false,
        rounds: None,
        contenders,
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

/// Lets two threads do `step` in turn, `n` times together, the other thread first.
pub fn relay(n: u64, step: impl Fn() + Sync) -> Duration {
    let done = AtomicU64::new(0);
    let side = |parity: u64| {
        let mut next = parity;
        while next < n {
            let mut waited = 0u32;
            while done.load(Ordering::Acquire) != next {
                // The other thread may have no core to run on.
                waited += 1;
                if waited.is_multiple_of(1 << 12) {
                    thread::yield_now()
                } else {
                    std::hint::spin_loop()
                }
            }
            step();
            done.store(next + 1, Ordering::Release);
            next += 2;
        }
    };
    thread::scope(|scope| {
        let start = Instant::now();
        scope.spawn(|| side(0));
        side(1);
        while done.load(Ordering::Acquire) < n {
            thread::yield_now();
        }
        start.elapsed()
    })
}

fn hand_off() -> Contender {
    Contender::measured("hand-off", |n| Ok(Turn::ns(relay(n, || ()), n)))
}
