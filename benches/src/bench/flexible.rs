//! Coroutines that threads call, beside locks, conditions and channels: one call, a bounded buffer, readers
//! and writers.
//!
//! A note says how often threads gave up their processor to wait, for each operation; and, where somebody can
//! be woken in vain, how often that happened.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Turn};
use crate::outcome::Verdict;
use crate::subject;

pub mod buffer;
pub mod call;
pub mod readers;
mod switches;

/// What threads do with something that they share.
pub trait Shared: Send + Sync + 'static {
    /// The `n`th operation of this thread.
    fn operate(&self, thread: usize, n: u64);

    /// How often somebody was woken and had to wait on.
    fn in_vain(&self) -> Option<u64> {
        None
    }
}

/// How often somebody was woken in vain.
#[derive(Default)]
pub struct InVain(AtomicU64);

impl InVain {
    pub fn count(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub fn get(&self) -> Option<u64> {
        Some(self.0.load(Relaxed))
    }
}

/// How long threads operate in a turn, at least: if they did only for as long as it takes to start them, the
/// figure would be about that.
const LEAST: Duration = Duration::from_millis(8);

/// So many threads share what `make` makes.
pub fn contender<S: Shared>(
    name: &'static str,
    threads: u64,
    make: impl Fn() -> S + 'static,
) -> Contender {
    let threads = threads as usize;
    // Operations of each thread that have taken long enough.
    let mut least = 1;
    Contender::measured(name, move |n| {
        loop {
            let each = least.max(n / threads as u64);
            let (elapsed, turn) = turn(&make(), threads, each);
            if elapsed >= LEAST {
                return Ok(turn);
            }
            let share = LEAST.as_secs_f64() / elapsed.as_secs_f64().max(1e-6);
            least = (each as f64 * share.clamp(2.0, 16.0)) as u64;
        }
    })
}

/// Threads that operate, so often each: how long from the first that begins until the last that ends.
fn turn(shared: &impl Shared, threads: usize, each: u64) -> (Duration, Turn) {
    // Whatever it needs once is there.
    for thread in 0..threads {
        shared.operate(thread, 0);
    }
    let barrier = Barrier::new(threads);
    let switched = switches::voluntary();
    let run = |thread: usize| {
        barrier.wait();
        let start = Instant::now();
        (0..each).for_each(|n| shared.operate(thread, n));
        (start, Instant::now())
    };
    let all: Vec<_> = if threads == 1 {
        vec![run(0)]
    } else {
        std::thread::scope(|s| {
            let run = &run;
            let all: Vec<_> = (0..threads).map(|own| s.spawn(move || run(own))).collect();
            all.into_iter().map(|own| own.join().expect("nobody panics")).collect()
        })
    };
    let begin = all.iter().map(|(start, _)| *start).min().expect("there is a thread");
    let end = all.iter().map(|(_, end)| *end).max().expect("there is a thread");
    let elapsed = end - begin;
    // The barrier has each wait once.
    let switched = (switches::voluntary() - switched).saturating_sub(threads as u64);
    let operations = each * threads as u64;
    let share = |count: u64| format!("{:.2}", count as f64 / operations.max(1) as f64);
    let mut note = format!("{} switches", share(switched));
    if let Some(count) = shared.in_vain() {
        note += &format!(", {} wake-ups in vain", share(count));
    }
    (elapsed, Turn::ns(elapsed, operations).with_note(note))
}

fn case(threads: u64, contenders: Vec<Contender>) -> Case {
    let load = Load::Filling { granule: threads };
    Case { parameter: Some(threads), load, isolated: false, rounds: None, contenders }
}

pub const CALL: Bench = Bench {
    name: "flexible-call",
    unit: "ns",
    about: "call a coroutine from a thread and get its answer",
    parameter: "threads",
    chart: Chart::Curve,
    cases: |_| {
        let case = |threads| {
            let mut contenders = subject::call(threads);
            contenders.extend(call::peers(threads));
            case(threads, contenders)
        };
        [1, 2, 8, 64].into_iter().map(case).collect()
    },
    judge: |outcome| {
        let mut verdicts: Vec<Option<Verdict>> =
            vec![outcome.at_most(Some(1), "leno threadless", "thread lock", 3.0)];
        for threads in [1, 2, 8, 64] {
            verdicts.push(outcome.at_most(Some(threads), "leno", "thread", 1.0));
            verdicts.push(outcome.at_most(Some(threads), "leno threadless", "thread", 1.0));
        }
        verdicts.into_iter().flatten().collect()
    },
};

pub const BUFFER: Bench = Bench {
    name: "flexible-buffer",
    unit: "ns",
    about: "put into, or take out of, a buffer of 16; half of the threads each",
    parameter: "threads",
    chart: Chart::Curve,
    cases: |_| {
        let case = |threads| {
            let mut contenders = subject::buffer(threads);
            contenders.extend(buffer::peers(threads));
            case(threads, contenders)
        };
        [2, 8, 64].into_iter().map(case).collect()
    },
    judge: |outcome| {
        let at = |threads| {
            ["thread", "thread som"]
                .map(|peer| outcome.at_most(Some(threads), "leno threadless", peer, 1.0))
        };
        [2, 8, 64].into_iter().flat_map(at).flatten().collect()
    },
};

pub const READERS: Bench = Bench {
    name: "flexible-readers",
    unit: "ns",
    about: "enter and leave as one of the readers, or, every eighth time, as the writer",
    parameter: "threads",
    chart: Chart::Curve,
    cases: |_| {
        let case = |threads| {
            let mut contenders = subject::readers(threads);
            contenders.extend(readers::peers(threads));
            case(threads, contenders)
        };
        [1, 2, 8, 64].into_iter().map(case).collect()
    },
    judge: |outcome| {
        let at = |threads| {
            ["leno threadless", "leno gate"]
                .map(|own| outcome.at_most(Some(threads), own, "thread", 1.0))
        };
        [1, 2, 8, 64].into_iter().flat_map(at).flatten().collect()
    },
};
