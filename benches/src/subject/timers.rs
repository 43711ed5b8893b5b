//! leno in the benches of timers.

use leno::channel::{after, channel};
use leno::kernel::layer::{Alarm, deadline_in};
use leno::kernel::{LocalSystem, sleep};

use crate::bench::spawn::expected;
use crate::bench::timers::{FAR, Naps, SLEEPERS, far};
use crate::contender::Contender;

/// A future's alarm is the only timer of leno that several of can be armed by one coroutine.
pub fn timers_cancel() -> Vec<Contender> {
    vec![Contender::timed("leno", |n| {
        let system = LocalSystem::new();
        drop(system.spawn_future(std::future::poll_fn(move |context| {
            let alarm = |number| Alarm::set(deadline_in(far(number)), context);
            let all: Vec<Alarm> = (0..n).map(alarm).collect();
            drop(all);
            std::task::Poll::Ready(())
        })));
        system.run().expect("all end");
    })]
}

pub fn timers_fire() -> Vec<Contender> {
    let coroutines = Contender::timed("leno", |n| {
        let system = LocalSystem::builder().virtual_time().build();
        for number in 0..SLEEPERS {
            drop(system.spawn(move || {
                let mut naps = Naps::of(number);
                (0..n / SLEEPERS).for_each(|_| sleep(naps.next()));
            }));
        }
        system.run().expect("all end");
    });
    let futures = Contender::timed("leno futures", |n| {
        let system = LocalSystem::builder().virtual_time().build();
        for number in 0..SLEEPERS {
            drop(system.spawn_future(async move {
                let mut naps = Naps::of(number);
                for _ in 0..n / SLEEPERS {
                    after(naps.next()).recv_async().await.expect("its time comes");
                }
            }));
        }
        system.run().expect("all end");
    });
    vec![coroutines, futures]
}

pub fn timeout() -> Vec<Contender> {
    vec![Contender::timed("leno", |n| {
        let system = LocalSystem::new();
        let (tx, rx) = channel();
        drop(system.spawn(move || (0..n).for_each(|v| tx.send(v).expect("the receiver stays"))));
        let sum = system.spawn(move || {
            let mut sum = 0;
            while let Ok(value) = rx.recv_timeout(FAR) {
                sum += value;
            }
            sum
        });
        system.run().expect("all end");
        assert_eq!(sum.join().expect("it does not panic"), expected(n));
    })]
}
