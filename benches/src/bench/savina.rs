//! Workloads of the kind that actor systems are compared by: those that the tests of processes check, on one
//! core and on two, and some of them beside tokio's tasks and channels.

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Turn};
use crate::{peers, subject};

macro_rules! workloads {
    ($($bench:ident $name:literal $about:literal $peers:expr;)*) => {$(
        pub const $bench: Bench = Bench {
            name: concat!("savina-", $name),
            unit: "ns",
            about: $about,
            parameter: "cores",
            chart: Chart::Dots,
            cases: |_| [1, 2].into_iter().map(|cores| case($name, cores, $peers)).collect(),
            judge: |outcome| {
                let at = |cores| outcome.at_most(Some(cores), "leno", "tokio", 1.0);
                [1, 2].into_iter().filter_map(at).collect()
            },
        };
    )*};
}

type Peers = fn(u64) -> Vec<Contender>;

workloads! {
    PING_PONG "ping-pong" "a call, and its answer, between two processes" |cores| vec![tokio("tokio", cores, ping_pong)];
    THREAD_RING "thread-ring" "pass a token on in a ring of 100 processes" |cores| vec![tokio("tokio", cores, thread_ring)];
    COUNTING "counting" "call a counter, which counts" |cores| vec![tokio("tokio", cores, counting)];
    FORK_JOIN "fork-join" "call one of 60 processes in turn" |_| vec![];
    CHAMENEOS "chameneos" "a meeting of two of four, by a mall" |_| vec![];
    PHILOSOPHERS "philosophers" "a meal of one of five, by a table that serves forks" |_| vec![];
    BOUNDED_BUFFER "bounded-buffer" "one value through a buffer of three, by guards" |_| vec![];
    SLEEPING_BARBER "sleeping-barber" "a customer of a barber, by a monitor" |_| vec![];
    CIGARETTE_SMOKERS "cigarette-smokers" "a cigarette, by semaphores" |_| vec![];
    BANKING "banking" "a transfer between two of ten accounts" |_| vec![];
    SIEVE "sieve" "a number through a chain of primes" |_| vec![];
    FIBONACCI "fibonacci" "start a process that starts two, and wait for both" |_| vec![];
}

fn case(name: &'static str, cores: u64, peers: Peers) -> Case {
    let mut contenders = subject::savina(name, cores);
    contenders.extend(peers(cores));
    Case { parameter: Some(cores), load: Load::Fixed(1), isolated: false, rounds: None, contenders }
}

type Future =
    std::pin::Pin<Box<dyn std::future::Future<Output = std::result::Result<u64, Failure>>>>;

/// `run` gives the number of operations that it was.
fn tokio(name: &'static str, cores: u64, run: fn() -> Future) -> Contender {
    Contender::measured(name, move |_| {
        let runtime = match cores {
            1 => peers::tokio_on_this_thread()?,
            _ => peers::tokio_on_two_workers()?,
        };
        let start = std::time::Instant::now();
        let operations = runtime.block_on(run())?;
        Ok(Turn::ns(start.elapsed(), operations))
    })
}

fn ping_pong() -> Future {
    use tokio::sync::{mpsc, oneshot};
    const CALLS: u64 = 20_000;
    Box::pin(async {
        let (sender, mut receiver) = mpsc::unbounded_channel::<(u64, oneshot::Sender<u64>)>();
        tokio::spawn(async move {
            while let Some((n, answer)) = receiver.recv().await {
                let _ = answer.send(n + 1);
            }
        });
        let play = async move {
            let mut n = 0;
            for _ in 0..CALLS {
                let (answer, reply) = oneshot::channel();
                sender.send((n, answer)).map_err(Failure::failed)?;
                n = reply.await.map_err(Failure::failed)?;
            }
            Ok::<u64, Failure>(n)
        };
        tokio::spawn(play).await.map_err(Failure::failed)?
    })
}

fn thread_ring() -> Future {
    use tokio::sync::{mpsc, oneshot};
    const HOPS: u64 = 20_000;
    Box::pin(async {
        let (ended, end) = oneshot::channel::<()>();
        let mut ended = Some(ended);
        let ends: Vec<_> = (0..100).map(|_| mpsc::unbounded_channel::<u64>()).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        for (place, mut receiver) in receivers.into_iter().enumerate() {
            let next = senders[(place + 1) % 100].clone();
            let mut ended = (place as u64 == HOPS % 100).then(|| ended.take()).flatten();
            tokio::spawn(async move {
                while let Some(left) = receiver.recv().await {
                    if left > 0 {
                        let _ = next.send(left - 1);
                    } else if let Some(ended) = ended.take() {
                        let _ = ended.send(());
                    }
                }
            });
        }
        senders[0].send(HOPS).map_err(Failure::failed)?;
        end.await.map_err(Failure::failed)?;
        Ok(HOPS)
    })
}

fn counting() -> Future {
    use tokio::sync::mpsc;
    const CALLS: u64 = 50_000;
    Box::pin(async {
        let (sender, mut receiver) = mpsc::unbounded_channel::<()>();
        let counter = tokio::spawn(async move {
            let mut count = 0;
            while receiver.recv().await.is_some() {
                count += 1;
            }
            count
        });
        for _ in 0..CALLS {
            sender.send(()).map_err(Failure::failed)?;
        }
        drop(sender);
        let count = counter.await.map_err(Failure::failed)?;
        if count == CALLS { Ok(CALLS) } else { Err(Failure::failed("calls were lost")) }
    })
}
