//! Exploring for a while, with other seeds each time: `LENO_EXPLORE_SECONDS`. Not in `suite`: the leg of
//! exploring builds it with optimisations.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use leno_channel::shared::{bounded, channel, unbounded};
use leno_channel::{Mutex, Select};
use leno_explore::{Explorer, thread};
use leno_kernel::{System, sleep, spawn, spawn_future, yield_now};
use std::sync::Arc;

/// Coroutines, futures and threads over all kinds of channels, a lock and a select; all accounted for.
fn program() {
    let system = System::new(2).unwrap();
    let (tx, rx) = bounded(1);
    let (meet_tx, meet_rx) = channel();
    let (all_tx, all_rx) = unbounded();
    let sum = Arc::new(Mutex::shared(0));
    let workers: Vec<_> = (1..=3u32)
        .map(|n| {
            let (tx, all, sum) = (tx.clone(), all_tx.clone(), sum.clone());
            system.spawn(move || {
                tx.send(n).unwrap();
                *sum.lock().unwrap() += n;
                let twice = spawn(move || n * 2).join().unwrap();
                let later = spawn_future(async move { all.send_async(twice).await.unwrap() });
                later.join().unwrap();
            })
        })
        .collect();
    drop((tx, all_tx));
    let other = thread::spawn("other", move || meet_tx.send(100).unwrap());
    let (mut got, mut met) = (0, 0);
    let mut left = 2;
    while left > 0 {
        let value = Select::new()
            .recv(&rx, |value| value.ok())
            .recv(&meet_rx, |value| value.ok())
            .wait()
            .unwrap();
        match value {
            Some(100) => met += 100,
            Some(value) => got += value,
            None => left = 0,
        }
    }
    got += rx.iter().sum::<u32>();
    met += meet_rx.iter().sum::<u32>();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    other.join().unwrap();
    assert_eq!((got, met, *sum.lock().unwrap()), (6, 100, 6));
    assert_eq!(all_rx.iter().sum::<u32>(), 12);
    let timed = system.spawn(|| {
        sleep(Duration::from_secs(1));
        yield_now();
    });
    timed.join().unwrap();
    assert_eq!(system.wait().unwrap().alive.len(), 0);
}

#[test]
fn nothing_is_lost_under_any_seed() {
    let seconds = std::env::var("LENO_EXPLORE_SECONDS").ok().and_then(|text| text.parse().ok());
    let limit = Duration::from_secs(seconds.unwrap_or(1));
    let start = Instant::now();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let (mut seed, mut runs) = (now % 1_000_000_007, 0);
    while start.elapsed() < limit {
        for explorer in [Explorer::new().random(seed), Explorer::new().pct(seed, 3)] {
            runs +=
                explorer.runs(100).run(program).unwrap_or_else(|error| panic!("{error}")).runs();
        }
        seed += 100;
    }
    println!("{runs} schedules in {:?}", start.elapsed());
}
