//! Values through four adders, one after the other: by five channels, fused, or as an iterator.

use std::hint::black_box;

use super::{Bench, Case, Chart};
use crate::contender::{Contender, Turn};
use crate::{peers, subject};

pub const ADDERS: u64 = 4;

pub const PIPELINE: Bench = Bench {
    name: "pipeline",
    unit: "ns",
    about: "a value goes through four adders, by rendezvous or fused; per value, five exchanges if none is fused",
    parameter: "",
    chart: Chart::Dots,
    cases: |_| {
        let mut contenders = subject::pipeline();
        contenders.extend([iterator(), tokio()]);
        Case::only(contenders)
    },
    judge: |outcome| {
        let verdicts = [
            outcome.at_most(None, "leno fused", "iterator", 1.1),
            outcome.at_most(None, "leno fused chip", "leno", 0.5),
            outcome.at_most(None, "leno fused whole", "leno fused chip", 0.5),
            outcome.at_most(None, "leno", "tokio", 1.0),
        ];
        verdicts.into_iter().flatten().collect()
    },
};

/// A value as it goes in; nobody may know it beforehand.
pub fn input(n: u64) -> u64 {
    black_box(n)
}

/// What `n` values sum up to.
pub fn expected(n: u64) -> u64 {
    n * ADDERS + n * (n + 1) / 2
}

fn iterator() -> Contender {
    Contender::timed("iterator", |n| {
        let add = |value| value + 1;
        let values = (1..=n).map(input).map(add).map(add).map(add).map(add);
        assert_eq!(values.sum::<u64>(), expected(n));
    })
}

/// Room for one: it has no rendezvous.
fn tokio() -> Contender {
    let runtime = peers::tokio_on_this_thread();
    Contender::measured("tokio", move |n| {
        let runtime = runtime.as_ref().map_err(Clone::clone)?;
        let start = std::time::Instant::now();
        let sum = runtime.block_on(async {
            let (first, mut inp) = tokio::sync::mpsc::channel(1);
            tokio::spawn(async move {
                for value in 1..=n {
                    first.send(input(value)).await.expect("the adders stay");
                }
            });
            for _ in 0..ADDERS {
                let (out, next) = tokio::sync::mpsc::channel(1);
                tokio::spawn(async move {
                    while let Some(value) = inp.recv().await {
                        out.send(value + 1).await.expect("the next one stays");
                    }
                });
                inp = next;
            }
            let mut sum = 0;
            while let Some(value) = inp.recv().await {
                sum += value;
            }
            sum
        });
        assert_eq!(sum, expected(n));
        Ok(Turn::ns(start.elapsed(), n))
    })
}
