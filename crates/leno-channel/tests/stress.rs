//! Threads, coroutines and futures of several systems at the same channels: whatever is sent is
//! received once, in order. `LENO_STRESS_SECONDS=N` says how long. Not in `suite`: the stress leg builds it
//! with optimisations.
#![cfg(not(loom))]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use leno_channel::{Receiver, Select, Semaphore, Sender, Shared, join, shared};
use leno_kernel::{LocalSystem, System, block_on, spawn, yield_now};

type Tx = Sender<Value, Shared>;
type Rx = Receiver<Value, Shared>;

/// Who sent it, to which channel, and how many it had sent there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Value {
    sender: usize,
    channel: usize,
    number: u64,
}

fn time() -> Duration {
    let seconds = std::env::var("LENO_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(1.0))
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Sends in every way until told to stop; gives how many went to each channel.
fn send(sender: usize, to: &[Tx], stop: &AtomicBool) -> Vec<u64> {
    let mut random = Random(sender as u64 * 7_919 + 1);
    let mut sent = vec![0; to.len()];
    while !stop.load(Relaxed) {
        let channel = random.below(to.len() as u64) as usize;
        let value = Value { sender, channel, number: sent[channel] };
        let other = (channel + 1) % to.len();
        let instead = Value { sender, channel: other, number: sent[other] };
        let (own, next) = (&to[channel], &to[other]);
        let went = match random.below(5) {
            0 => own.send(value).is_ok().then_some(channel),
            1 => own.try_send(value).is_ok().then_some(channel),
            2 => own.send_timeout(value, Duration::from_micros(50)).is_ok().then_some(channel),
            3 => Select::new()
                .send(own, value, |sent| sent.is_ok().then_some(channel))
                .send(next, instead, |sent| sent.is_ok().then_some(other))
                .after(Duration::from_micros(200), || None)
                .wait()
                .unwrap(),
            _ => block_on(own.send_async(value)).is_ok().then_some(channel),
        };
        if let Some(channel) = went {
            sent[channel] += 1;
        }
    }
    sent
}

/// Receives in every way until all channels are closed; gives what it got, in order.
fn receive(seed: u64, from: &[Rx], can_join: bool) -> Vec<Value> {
    let mut random = Random(seed);
    let mut got = Vec::new();
    let limit = Duration::from_micros(100);
    while from.iter().any(|rx| !(rx.is_closed() && rx.is_empty())) {
        let (one, two) = (random.below(3) as usize, random.below(3) as usize);
        match random.below(5) {
            0 => got.extend(from[one].recv_timeout(limit)),
            1 => got.extend(from[one].try_recv()),
            2 if one != two && can_join => {
                let both = join((&from[one], &from[two])).recv_timeout(limit);
                got.extend(both.into_iter().flat_map(|(a, b)| [a, b]));
            }
            3 => got.extend(block_on(async {
                let select = Select::new().recv(&from[one], |v| v.ok());
                let select = select.recv(&from[two], |v| v.ok()).after(limit, || None);
                select.wait_async().await.unwrap()
            })),
            _ => {
                let select = Select::new().recv(&from[0], |v| v.ok()).recv(&from[1], |v| v.ok());
                got.extend(select.recv(&from[2], |v| v.ok()).after(limit, || None).wait().unwrap());
            }
        }
    }
    got
}

#[test]
fn whatever_is_sent_is_received_once_and_in_order() {
    let (to, from): (Vec<Tx>, Vec<Rx>) =
        [shared::channel(), shared::bounded(2), shared::unbounded()].into_iter().unzip();
    let stop = Arc::new(AtomicBool::new(false));
    let mut senders = Vec::new();
    // Two threads, and two coroutines in each of two systems.
    for sender in 0..2 {
        let (to, stop) = (to.clone(), stop.clone());
        senders.push(std::thread::spawn(move || vec![(sender, send(sender, &to, &stop))]));
    }
    for system in 1..3 {
        let (to, stop) = (to.clone(), stop.clone());
        senders.push(std::thread::spawn(move || {
            let local = LocalSystem::new();
            let all: Vec<_> = (2 * system..2 * system + 2)
                .map(|sender| {
                    let (to, stop) = (to.clone(), stop.clone());
                    local.spawn(move || (sender, send(sender, &to, &stop)))
                })
                .collect();
            local.run().unwrap();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        }));
    }
    drop(to);
    let mut receivers = Vec::new();
    for seed in 1..4 {
        let from = from.clone();
        receivers.push(std::thread::spawn(move || {
            if seed == 3 {
                let local = LocalSystem::new();
                let two = [(31, from.clone()), (32, from)]
                    .map(|(seed, from)| local.spawn(move || receive(seed, &from, true)));
                local.run().unwrap();
                return two.into_iter().map(|one| one.join().unwrap()).collect();
            }
            vec![receive(seed, &from, seed == 1)]
        }));
    }
    drop(from);
    std::thread::sleep(time());
    stop.store(true, Relaxed);
    let sent: Vec<(usize, Vec<u64>)> =
        senders.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let lists: Vec<Vec<Value>> =
        receivers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let mut count: HashMap<(usize, usize), u64> = HashMap::new();
    for list in &lists {
        let mut last: HashMap<(usize, usize), u64> = HashMap::new();
        for value in list {
            let key = (value.sender, value.channel);
            *count.entry(key).or_default() += 1;
            let before = last.insert(key, value.number);
            assert!(
                before.is_none_or(|before| before < value.number),
                "{value:?} after {before:?}"
            );
        }
    }
    let mut all = 0;
    for (sender, sent) in sent {
        for (channel, sent) in sent.into_iter().enumerate() {
            let received = count.remove(&(sender, channel)).unwrap_or(0);
            assert_eq!(received, sent, "from {sender} to channel {channel}");
            all += sent;
        }
    }
    assert!(count.is_empty() && all > 100, "{all}");
    let unique: std::collections::HashSet<_> = lists.iter().flatten().collect();
    assert_eq!(unique.len() as u64, all, "each once");
}

#[test]
fn facing_selects_of_threads_meet() {
    let rounds = 2_000 * time().as_secs().max(1);
    let ((a, from_a), (b, from_b)) = (shared::channel(), shared::channel());
    let sender = std::thread::spawn(move || {
        for i in 0..rounds {
            let select = Select::new().send(&a, i, |sent| sent.unwrap());
            select.send(&b, i, |sent| sent.unwrap()).wait().unwrap();
        }
    });
    for i in 0..rounds {
        let select = Select::new().recv(&from_b, |v| v.unwrap()).recv(&from_a, |v| v.unwrap());
        assert_eq!(select.wait(), Ok(i));
    }
    sender.join().unwrap();
}

#[test]
fn crossed_joins_of_threads_come_to_an_end() {
    let rounds = 1_000 * time().as_secs().max(1);
    let (to, from): (Vec<_>, Vec<_>) = (0..3).map(|_| shared::bounded(1)).unzip();
    let sums = std::thread::scope(|scope| {
        for tx in &to {
            scope.spawn(move || (0..2 * rounds).for_each(|i| tx.send(i).unwrap()));
        }
        let joins = [(0, 1), (1, 2), (2, 0)].map(|(one, two)| {
            let (one, two) = (&from[one], &from[two]);
            scope.spawn(move || {
                let both = |_| join((one, two)).recv().map(|(a, b)| a + b).unwrap();
                (0..rounds).map(both).sum::<u64>()
            })
        });
        joins.map(|joined| joined.join().unwrap())
    });
    assert_eq!(sums.into_iter().sum::<u64>(), 3 * (0..2 * rounds).sum::<u64>());
}

#[test]
fn coroutines_of_several_cores_share_a_channel_and_a_semaphore() {
    let system = System::builder().cores(2).build().unwrap();
    let total = Arc::new(AtomicU64::new(0));
    let (tx, rx) = shared::bounded(8);
    let semaphore = Arc::new(Semaphore::shared(3));
    let inside = Arc::new(AtomicU64::new(0));
    let receivers: Vec<_> = (0..4)
        .map(|_| {
            let (rx, total) = (rx.clone(), total.clone());
            system.spawn(move || {
                for i in &rx {
                    total.fetch_add(i, Relaxed);
                }
            })
        })
        .collect();
    let senders = system.spawn(move || {
        let all: Vec<_> = (0..8)
            .map(|_| {
                let (tx, semaphore, inside) = (tx.clone(), semaphore.clone(), inside.clone());
                spawn(move || {
                    for i in 0..500 {
                        let _permit = semaphore.acquire().unwrap();
                        assert!(inside.fetch_add(1, Relaxed) < 3);
                        tx.send(i).unwrap();
                        yield_now();
                        inside.fetch_sub(1, Relaxed);
                    }
                })
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
    senders.join().unwrap();
    receivers.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(total.load(Relaxed), 8 * (0..500).sum::<u64>());
}

#[test]
fn cancelled_receivers_of_another_thread_lose_nothing() {
    let end = Instant::now() + time();
    let (tx, rx) = shared::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let sender = std::thread::spawn(move || {
        let mut sent = 0;
        while !stopped.load(Relaxed) {
            tx.send(sent).unwrap();
            sent += 1;
        }
        sent
    });
    let mut got: Vec<u64> = Vec::new();
    while Instant::now() < end {
        let system = LocalSystem::new();
        let (out, results) = leno_channel::unbounded();
        let waiting: Vec<_> = (0..4)
            .map(|i| {
                let (rx, out) = (rx.clone(), out.clone());
                system.spawn(move || {
                    loop {
                        let value = if i % 2 == 0 {
                            rx.recv().unwrap()
                        } else {
                            Select::new().recv(&rx, |v| v.unwrap()).wait().unwrap()
                        };
                        out.send(value).unwrap();
                    }
                })
            })
            .collect();
        drop(system.spawn(move || {
            for one in waiting {
                (0..20).for_each(|_| yield_now());
                one.cancel();
            }
        }));
        system.run().unwrap();
        got.extend(results.try_iter());
    }
    stop.store(true, Relaxed);
    got.extend(rx.iter());
    let sent = sender.join().unwrap();
    got.sort();
    assert_eq!(got, (0..sent).collect::<Vec<_>>());
}
