//! One receiver, eight channels, a sender at each.

use std::time::Instant;

use crossbeam_channel as crossbeam;

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Turn};
use crate::external::{self, Tool};
use crate::{peers, subject};

pub const SENDERS: u64 = 8;

pub const SELECT_8: Bench = Bench {
    name: "select-8",
    unit: "ns",
    about: "one receives from eight senders by a select over eight rendezvous; per message",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let mut contenders = subject::select_8();
        contenders.extend([tokio(), threads()]);
        let n = scale.pick(100_000, 1_000_000);
        contenders.push(external::contender(Tool::Go, "select", SENDERS, n));
        let load = Load::Filling { granule: SENDERS };
        vec![Case { parameter: None, load, isolated: false, rounds: None, contenders }]
    },
    judge: |outcome| {
        let peers = ["tokio", "thread crossbeam-channel", "go"];
        peers.iter().filter_map(|peer| outcome.at_most(None, "leno", peer, 1.0)).collect()
    },
};

/// What `n` messages sum up to when each sender sends 1, 2, 3 and so on.
pub fn expected(n: u64) -> u64 {
    let each = n / SENDERS;
    SENDERS * each * (each + 1) / 2
}

/// Room for one: it has no rendezvous.
fn tokio() -> Contender {
    let runtime = peers::tokio_on_this_thread();
    Contender::measured("tokio", move |n| {
        let runtime = runtime.as_ref().map_err(Clone::clone)?;
        let start = Instant::now();
        let sum = runtime.block_on(async {
            let ends: Vec<_> = (0..SENDERS).map(|_| tokio::sync::mpsc::channel(1)).collect();
            let mut kept = Vec::new();
            let mut receivers = Vec::new();
            for (tx, rx) in ends {
                kept.push(tx.clone());
                receivers.push(rx);
                tokio::spawn(async move {
                    for value in 1..=n / SENDERS {
                        tx.send(value).await.expect("the receiver stays");
                    }
                });
            }
            let rx: [_; SENDERS as usize] = receivers.try_into().expect("one for each");
            let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = rx;
            let mut sum = 0;
            for _ in 0..n {
                let value = tokio::select! {
                    value = a.recv() => value,
                    value = b.recv() => value,
                    value = c.recv() => value,
                    value = d.recv() => value,
                    value = e.recv() => value,
                    value = f.recv() => value,
                    value = g.recv() => value,
                    value = h.recv() => value,
                };
                sum += value.expect("a sender is kept");
            }
            sum
        });
        assert_eq!(sum, expected(n));
        Ok(Turn::ns(start.elapsed(), n))
    })
}

/// Threads, because that is what crossbeam's select is for.
fn threads() -> Contender {
    Contender::timed("thread crossbeam-channel", |n| {
        let ends: Vec<_> = (0..SENDERS).map(|_| crossbeam::bounded(0)).collect();
        let sum = std::thread::scope(|scope| {
            for (tx, _) in &ends {
                scope.spawn(move || {
                    for value in 1..=n / SENDERS {
                        tx.send(value).expect("the receiver stays");
                    }
                });
            }
            let mut select = crossbeam::Select::new();
            for (_, rx) in &ends {
                select.recv(rx);
            }
            let mut sum = 0;
            for _ in 0..n {
                let ready = select.select();
                let from = &ends[ready.index()].1;
                sum += ready.recv(from).expect("a sender is kept");
            }
            sum
        });
        assert_eq!(sum, expected(n));
    })
}
