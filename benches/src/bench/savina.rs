//! Workloads of the kind that actor systems are compared by: those that the tests of processes check, on one
//! core and on two, beside the same work by tokio's tasks and what it has for them to wait on.
//!
//! What is timed begins when cores and workers are there, and ends when they have ended.

mod actors;
mod shared;

use super::{Bench, Case, Chart, Load};
use crate::contender::{Contender, Failure, Turn};
use crate::{peers, subject};

macro_rules! workloads {
    ($($bench:ident $name:literal $size:literal $tokio:path, $about:literal;)*) => {$(
        pub const $bench: Bench = Bench {
            name: concat!("savina-", $name),
            unit: "ns",
            about: $about,
            parameter: "cores",
            chart: Chart::Dots,
            cases: |_| [1, 2].into_iter().map(|cores| case($name, $size, cores, $tokio)).collect(),
            judge: |outcome| {
                let at = |cores| outcome.at_most(Some(cores), "leno", "tokio", 1.0);
                [1, 2].into_iter().filter_map(at).collect()
            },
        };
    )*};
}

workloads! {
    PING_PONG "ping-pong" 20_000 actors::ping_pong, "a call, and its answer, between two processes";
    THREAD_RING "thread-ring" 20_000 actors::thread_ring, "pass a token on in a ring of 100 processes";
    COUNTING "counting" 50_000 actors::counting, "call a counter, which counts";
    FORK_JOIN "fork-join" 500 actors::fork_join, "call one of 60 processes in turn";
    CHAMENEOS "chameneos" 5_000 actors::chameneos, "a meeting of two of four, by a mall";
    PHILOSOPHERS "philosophers" 1_000 shared::philosophers, "a meal of one of five, by a table that serves forks";
    BOUNDED_BUFFER "bounded-buffer" 2_000 shared::bounded_buffer, "one value through a buffer of three, by guards";
    SLEEPING_BARBER "sleeping-barber" 2_000 shared::sleeping_barber, "a customer of a barber, by a monitor";
    CIGARETTE_SMOKERS "cigarette-smokers" 2_000 shared::cigarette_smokers, "a cigarette, by semaphores";
    BANKING "banking" 2_000 shared::banking, "a transfer between two of ten accounts";
    SIEVE "sieve" 1_500 actors::sieve, "a number through a chain of primes";
    FIBONACCI "fibonacci" 15 actors::fibonacci, "start a process that starts two, and wait for both";
}

fn case(name: &'static str, size: u32, cores: u64, run: fn(u32) -> Work) -> Case {
    let mut contenders = subject::savina(name, size, cores);
    contenders.push(tokio(size, cores, run));
    Case { parameter: Some(cores), load: Load::Fixed(1), isolated: false, rounds: None, contenders }
}

/// How many operations it was, once it is done.
type Work = std::pin::Pin<Box<dyn std::future::Future<Output = Result<u64, Failure>>>>;

fn tokio(size: u32, cores: u64, run: fn(u32) -> Work) -> Contender {
    Contender::measured("tokio", move |_| {
        let runtime = match cores {
            1 => peers::tokio_on_this_thread()?,
            _ => peers::tokio_on_two_workers()?,
        };
        let start = std::time::Instant::now();
        let operations = runtime.block_on(run(size))?;
        drop(runtime);
        Ok(Turn::ns(start.elapsed(), operations))
    })
}

/// The result of a task.
async fn joined<T>(task: tokio::task::JoinHandle<T>) -> Result<T, Failure> {
    task.await.map_err(Failure::failed)
}

/// Whether what must come out did.
fn check<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure::failed(format!("{found:?} came out instead of {expected:?}")))
}
