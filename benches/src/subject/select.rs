//! leno in `select-8`: the macro, and the same as a value that is built.

use leno::channel::{Receiver, Select, Sender, channel, select};
use leno::kernel::LocalSystem;

use crate::bench::select::{SENDERS, expected};
use crate::contender::Contender;

type Ends = (Vec<Sender<u64>>, [Receiver<u64>; SENDERS as usize]);

pub fn select_8() -> Vec<Contender> {
    vec![
        Contender::timed("leno", |n| run(n, by_macro)),
        Contender::timed("leno builder", |n| run(n, by_builder)),
        Contender::timed("leno futures", run_futures),
    ]
}

/// The senders' ends are kept: a channel that is closed is always ready.
fn run(n: u64, receive: fn(&[Receiver<u64>; SENDERS as usize]) -> u64) {
    let system = LocalSystem::new();
    let (kept, receivers) = ends();
    for tx in &kept {
        let tx = tx.clone();
        drop(system.spawn(move || send_all(&tx, n / SENDERS)));
    }
    let sum = system.spawn(move || (0..n).map(|_| receive(&receivers)).sum::<u64>());
    system.run().expect("all end");
    assert_eq!(sum.join().expect("it does not panic"), expected(n));
}

fn run_futures(n: u64) {
    let system = LocalSystem::new();
    let (kept, [a, b, c, d, e, f, g, h]) = ends();
    for tx in &kept {
        let tx = tx.clone();
        drop(system.spawn_future(async move {
            for value in 1..=n / SENDERS {
                tx.send_async(value).await.expect("the receiver stays");
            }
        }));
    }
    let sum = system.spawn_future(async move {
        let mut sum = 0;
        for _ in 0..n {
            let value = select! {
                async;
                recv(a) -> value => value,
                recv(b) -> value => value,
                recv(c) -> value => value,
                recv(d) -> value => value,
                recv(e) -> value => value,
                recv(f) -> value => value,
                recv(g) -> value => value,
                recv(h) -> value => value,
            };
            sum += value.expect("there are alternatives").expect("a sender is kept");
        }
        sum
    });
    system.run().expect("all end");
    assert_eq!(sum.join().expect("it does not panic"), expected(n));
}

fn ends() -> Ends {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..SENDERS).map(|_| channel()).unzip();
    let receivers = receivers.try_into().expect("one for each");
    (senders, receivers)
}

fn send_all(tx: &Sender<u64>, count: u64) {
    for value in 1..=count {
        tx.send(value).expect("the receiver stays");
    }
}

fn by_macro([a, b, c, d, e, f, g, h]: &[Receiver<u64>; SENDERS as usize]) -> u64 {
    let value = select! {
        recv(*a) -> value => value,
        recv(*b) -> value => value,
        recv(*c) -> value => value,
        recv(*d) -> value => value,
        recv(*e) -> value => value,
        recv(*f) -> value => value,
        recv(*g) -> value => value,
        recv(*h) -> value => value,
    };
    value.expect("there are alternatives").expect("a sender is kept")
}

fn by_builder(receivers: &[Receiver<u64>; SENDERS as usize]) -> u64 {
    let mut select = Select::many();
    for rx in receivers {
        select = select.recv(rx, |value| value);
    }
    select.wait().expect("there are alternatives").expect("a sender is kept")
}
