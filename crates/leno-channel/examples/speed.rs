//! How long a message takes, beside a bare switch: `cargo run --release --example speed -p leno-channel`.

use std::time::Instant;

use leno_channel::{Receiver, Sender, bounded, channel, shared};
use leno_kernel::{LocalSystem, yield_now};

const MESSAGES: u64 = 2_000_000;

/// The best of some runs, in nanoseconds per message.
fn measure(name: &str, base: Option<f64>, mut run: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / MESSAGES as f64);
    }
    let ratio = base.map_or(String::new(), |base| format!("  {:.2} x a yield", best / base));
    println!("{name:28} {best:6.1} ns{ratio}");
    best
}

fn yields() {
    let system = LocalSystem::new();
    for _ in 0..2 {
        drop(system.spawn(|| (0..MESSAGES / 2).for_each(|_| yield_now())));
    }
    system.run().unwrap();
}

fn ping_pong<F: leno_channel::Flavour>(
    (tx, rx): (Sender<u64, F>, Receiver<u64, F>),
    (back, answers): (Sender<u64, F>, Receiver<u64, F>),
) {
    let system = LocalSystem::new();
    drop(system.spawn(move || {
        for i in 0..MESSAGES / 2 {
            tx.send(i).unwrap();
            assert_eq!(answers.recv().unwrap(), i);
        }
    }));
    drop(system.spawn(move || rx.iter().for_each(|i| back.send(i).unwrap())));
    system.run().unwrap();
}

fn stream<F: leno_channel::Flavour>((tx, rx): (Sender<u64, F>, Receiver<u64, F>)) {
    let system = LocalSystem::new();
    drop(system.spawn(move || (0..MESSAGES).for_each(|i| tx.send(i).unwrap())));
    drop(system.spawn(move || assert_eq!(rx.iter().count() as u64, MESSAGES)));
    system.run().unwrap();
}

fn main() {
    let only = std::env::args().nth(1);
    match only.as_deref() {
        Some("ping") => return ping_pong(channel(), channel()),
        Some("yield") => return yields(),
        Some("stream") => return stream(bounded(64)),
        _ => {}
    }
    let base = measure("yield", None, yields);
    let base = Some(base);
    measure("local rendezvous ping-pong", base, || ping_pong(channel(), channel()));
    measure("local rendezvous stream", base, || stream(channel()));
    measure("local bounded(64) stream", base, || stream(bounded(64)));
    measure("shared rendezvous ping-pong", base, || {
        ping_pong(shared::channel(), shared::channel());
    });
    measure("shared bounded(64) stream", base, || stream(shared::bounded(64)));
}
