//! leno in `wake`: a core whose one coroutine waits at a channel, and a thread that does.

use std::sync::Arc;
use std::thread;

use leno::channel::shared::channel;
use leno::kernel::LocalSystem;

use crate::bench::wake::{Calls, contender};
use crate::contender::Contender;

pub fn wake(percentile: u64) -> Vec<Contender> {
    vec![
        contender("leno", percentile, |n, calls| run(n, calls, true)),
        contender("leno threads", percentile, |n, calls| run(n, calls, false)),
    ]
}

fn run(n: u64, calls: Arc<Calls>, as_coroutine: bool) {
    let (tx, rx) = channel();
    let own = calls.clone();
    let listen = move || rx.iter().for_each(|()| own.hear());
    let sleeper = thread::spawn(move || {
        if as_coroutine {
            let system = LocalSystem::new();
            drop(system.spawn(listen));
            system.run().expect("all end");
        } else {
            listen();
        }
    });
    calls.make(n, || tx.send(()).expect("the sleeper stays"));
    drop(tx);
    sleeper.join().expect("it does not panic");
}
