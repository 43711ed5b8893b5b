//! Timers: very many armed and cancelled, very many fired, and one around each message.

use std::pin::Pin;
use std::task::Context;
use std::time::{Duration, Instant};

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Result, Turn};
use crate::external::{self, Tool};
use crate::outcome::{Outcome, Verdict};
use crate::subject;

/// How far ahead timers are that never fire.
pub const FAR: Duration = Duration::from_secs(3_600);

/// How many sleep at the same time.
pub const SLEEPERS: u64 = 1_000;

pub const CANCEL: Bench = Bench {
    name: "timers-cancel",
    unit: "ns",
    about: "arm a million timers, about an hour ahead, then cancel them; per timer",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let n = scale.pick(100_000, 1_000_000);
        let mut contenders = subject::timers_cancel();
        contenders.extend([tokio_cancel(), async_io_cancel()]);
        contenders.push(external::contender(Tool::Go, "timers", 1, n));
        let (load, rounds) = (Load::Fixed(n), Some(scale.pick(2, 7)));
        vec![Case { parameter: None, load, isolated: false, rounds, contenders }]
    },
    judge: |outcome| ahead(outcome, &["tokio", "async-io", "go"]),
};

pub const FIRE: Bench = Bench {
    name: "timers-fire",
    about: "1,000 coroutines sleep 1,000 times each, by a virtual clock; per sleep",
    cases: |scale| {
        let mut contenders = subject::timers_fire();
        contenders.push(tokio_fire());
        let load = Load::Fixed(scale.pick(100_000, 1_000_000));
        let rounds = Some(scale.pick(2, 7));
        vec![Case { parameter: None, load, isolated: false, rounds, contenders }]
    },
    judge: |outcome| ahead(outcome, &["tokio"]),
    ..CANCEL
};

pub const TIMEOUT: Bench = Bench {
    name: "timeout",
    about: "receive with a time limit that does not end, from another of the same core; per message",
    cases: |scale| {
        let mut contenders = subject::timeout();
        contenders.push(tokio_timeout());
        let n = scale.pick(100_000, 1_000_000);
        contenders.push(external::contender(Tool::Go, "timeout", 1, n));
        Case::only(contenders)
    },
    judge: |outcome| ahead(outcome, &["tokio", "go"]),
    ..CANCEL
};

fn ahead(outcome: &Outcome, peers: &[&str]) -> Vec<Verdict> {
    peers.iter().filter_map(|peer| outcome.at_most(None, "leno", peer, 1.0)).collect()
}

/// When the timer with this number is due: not all at once.
pub fn far(number: u64) -> Duration {
    FAR + Duration::from_millis(number % 1_000)
}

/// How long a sleeper sleeps, each time anew: 1 to 1,000 ms.
pub struct Naps(u64);

impl Naps {
    pub fn of(sleeper: u64) -> Self {
        Self(sleeper)
    }

    pub fn next(&mut self) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis((self.0 >> 33) % 1_000 + 1)
    }
}

/// Polls each of `n` futures once, which arms it, and then drops all.
fn arm_and_cancel<F: Future>(n: u64, context: &mut Context<'_>, timer: impl Fn(u64) -> F) {
    let mut all: Vec<Pin<Box<F>>> = Vec::with_capacity(n as usize);
    for number in 0..n {
        let mut timer = Box::pin(timer(number));
        assert!(timer.as_mut().poll(context).is_pending(), "it is not due for an hour");
        all.push(timer);
    }
    drop(all);
}

fn runtime(paused: bool) -> std::result::Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(paused).build().map_err(Failure::failed)
}

fn tokio_cancel() -> Contender {
    Contender::measured("tokio", |n| {
        let runtime = runtime(false)?;
        let start = Instant::now();
        runtime.block_on(std::future::poll_fn(|context| {
            arm_and_cancel(n, context, |number| tokio::time::sleep(far(number)));
            std::task::Poll::Ready(())
        }));
        Ok(Turn::ns(start.elapsed(), n))
    })
}

fn async_io_cancel() -> Contender {
    Contender::timed("async-io", |n| {
        async_io::block_on(std::future::poll_fn(|context| {
            arm_and_cancel(n, context, |number| async_io::Timer::after(far(number)));
            std::task::Poll::Ready(())
        }));
    })
}

fn tokio_fire() -> Contender {
    Contender::measured("tokio", |n| {
        let runtime = runtime(true)?;
        let start = Instant::now();
        let sleeper = |number| {
            tokio::spawn(async move {
                let mut naps = Naps::of(number);
                for _ in 0..n / SLEEPERS {
                    tokio::time::sleep(naps.next()).await;
                }
            })
        };
        runtime.block_on(async {
            let all: Vec<_> = (0..SLEEPERS).map(sleeper).collect();
            for one in all {
                one.await.map_err(Failure::failed)?;
            }
            Ok(())
        })?;
        Ok(Turn::ns(start.elapsed(), n))
    })
}

/// Room for one: it has no rendezvous.
fn tokio_timeout() -> Contender {
    Contender::measured("tokio", |n| -> Result {
        let runtime = runtime(false)?;
        let start = Instant::now();
        let sum = runtime.block_on(async {
            let (tx, mut rx) = tokio::sync::mpsc::channel(1);
            tokio::spawn(async move {
                for value in 0..n {
                    tx.send(value).await.expect("the receiver stays");
                }
            });
            let mut sum = 0;
            while let Ok(Some(value)) = tokio::time::timeout(FAR, rx.recv()).await {
                sum += value;
            }
            sum
        });
        assert_eq!(sum, super::spawn::expected(n));
        Ok(Turn::ns(start.elapsed(), n))
    })
}
