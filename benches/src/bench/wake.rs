//! How long it takes until someone who sleeps on another thread goes on.
//!
//! One call at a time, a pause before each, so that the sleeper sleeps deeply: whatever a runtime does
//! to stay awake between calls that follow closely is over by then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Turn};
use crate::outcome::Verdict;
use crate::{peers, subject};

/// Longer than any runtime looks round before it sleeps.
const PAUSE: Duration = Duration::from_micros(300);

/// Which of the sorted waits are results: together they are the distribution.
const PERCENTILES: [u64; 5] = [10, 50, 75, 90, 99];

/// Those that are judged: the median, and the longest but one in a hundred.
const JUDGED: [u64; 2] = [50, 99];

pub const WAKE: Bench = Bench {
    name: "wake",
    unit: "ns",
    about: "from waking someone who sleeps on another thread until it goes on",
    parameter: "percentile",
    chart: Chart::Curve,
    cases: |scale| {
        let case = |percentile| {
            let mut contenders = subject::wake(percentile);
            contenders.extend([
                contender("thread", percentile, unparked),
                contender("thread crossbeam-channel", percentile, crossbeam),
                contender("tokio", percentile, notified),
            ]);
            let load = Load::Fixed(scale.pick(30, 200));
            Case { parameter: Some(percentile), load, isolated: false, rounds: None, contenders }
        };
        PERCENTILES.into_iter().map(case).collect()
    },
    judge: |outcome| {
        let peers = ["thread", "thread crossbeam-channel", "tokio"];
        let at = |p| peers.map(|peer| outcome.at_most(Some(p), "leno", peer, 1.0));
        JUDGED.into_iter().flat_map(at).flatten().collect::<Vec<Verdict>>()
    },
};

/// What caller and sleeper know of each other.
pub struct Calls {
    began: Instant,
    /// When the last call was made.
    called: AtomicU64,
    calls: AtomicU64,
    heard: AtomicU64,
    took: Mutex<Vec<u64>>,
}

impl Calls {
    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// The caller's side: `wake` wakes the sleeper.
    pub fn make(&self, n: u64, mut wake: impl FnMut()) {
        for call in 1..=n {
            thread::sleep(PAUSE);
            self.called.store(self.now(), Ordering::Relaxed);
            self.calls.store(call, Ordering::Release);
            wake();
            // Keeps its core, so that the sleeper does not wake there when the caller goes to sleep.
            while self.heard.load(Ordering::Acquire) < call {
                std::hint::spin_loop();
            }
        }
    }

    /// The sleeper's side: it goes on.
    pub fn hear(&self) {
        let took = self.now() - self.called.load(Ordering::Relaxed);
        self.took.lock().expect("nobody panics").push(took);
        self.heard.fetch_add(1, Ordering::Release);
    }

    fn is_called(&self) -> bool {
        self.calls.load(Ordering::Acquire) > self.heard.load(Ordering::Relaxed)
    }
}

/// `run` starts a sleeper, wakes it so many times, and waits for its end.
pub fn contender(name: &'static str, percentile: u64, run: fn(u64, Arc<Calls>)) -> Contender {
    Contender::measured(name, move |n| {
        let calls = Arc::new(Calls {
            began: Instant::now(),
            called: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            took: Mutex::new(Vec::with_capacity(n as usize)),
        });
        run(n, calls.clone());
        let mut took = calls.took.lock().expect("nobody panics");
        took.sort_unstable();
        let at = (took.len() as u64 * percentile / 100) as usize;
        let value = took.get(at).ok_or_else(|| Failure::failed("nobody was woken"))?;
        Ok(Turn::of(*value as f64))
    })
}

fn unparked(n: u64, calls: Arc<Calls>) {
    let own = calls.clone();
    let sleeper = thread::spawn(move || {
        for _ in 0..n {
            while !own.is_called() {
                thread::park();
            }
            own.hear();
        }
    });
    calls.make(n, || sleeper.thread().unpark());
    sleeper.join().expect("it does not panic");
}

fn crossbeam(n: u64, calls: Arc<Calls>) {
    let (tx, rx) = crossbeam_channel::bounded(0);
    let own = calls.clone();
    let sleeper = thread::spawn(move || rx.iter().for_each(|()| own.hear()));
    calls.make(n, || tx.send(()).expect("the sleeper stays"));
    drop(tx);
    sleeper.join().expect("it does not panic");
}

fn notified(n: u64, calls: Arc<Calls>) {
    let notify = Arc::new(tokio::sync::Notify::new());
    let (own, notified) = (calls.clone(), notify.clone());
    let sleeper = thread::spawn(move || {
        let runtime = peers::tokio_on_this_thread().expect("it needs nothing");
        runtime.block_on(async {
            for _ in 0..n {
                notified.notified().await;
                own.hear();
            }
        });
    });
    calls.make(n, || notify.notify_one());
    sleeper.join().expect("it does not panic");
}
