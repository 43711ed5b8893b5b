//! Coroutines on stacks nobody used before: what creating one costs, and what its first resume
//! costs, when the system has to hand out the memory. Each turn runs in a process of its own,
//! because no pool must have a stack ready.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use generator::Gn;

use super::{Bench, Case, Chart, Load, Scale};
use crate::bench::rings::STACK;
use crate::contender::{Contender, Failure, Turn};
use crate::number::grouped;
use crate::{peers, subject};

/// Threads alive at once; systems limit them.
const THREADS: u64 = 1_000;

pub const CREATE_NEW_STACK: Bench = Bench {
    name: "create-new-stack",
    unit: "ns",
    about: "create a coroutine on a new stack and keep it; 10,000 of them in a new process",
    parameter: "",
    chart: Chart::Dots,
    cases: |_: Scale| isolated(subject::create_new_stack(), Watched::Creation),
    judge: |outcome| outcome.at_least("thread", "leno", 1.7).into_iter().collect(),
};

pub const FIRST_RESUME: Bench = Bench {
    name: "first-resume",
    about: "resume a coroutine for the first time, on a new stack; 10,000 of them in a new process",
    cases: |_| isolated(subject::first_resume(), Watched::FirstResume),
    judge: |outcome| outcome.at_least("thread", "leno", 20.0).into_iter().collect(),
    ..CREATE_NEW_STACK
};

/// Which of the two steps is timed.
#[derive(Clone, Copy)]
enum Watched {
    Creation,
    FirstResume,
}

impl Watched {
    fn of(self, creation: Duration, first_resume: Duration, n: u64) -> Turn {
        match self {
            Self::Creation => Turn::ns(creation, n),
            Self::FirstResume => Turn::ns(first_resume, n),
        }
    }
}

fn isolated(mut contenders: Vec<Contender>, watched: Watched) -> Vec<Case> {
    contenders.extend([corosensei(watched), generator(watched), tokio(watched)]);
    contenders.push(match watched {
        Watched::Creation => thread_creation(),
        Watched::FirstResume => thread_start(),
    });
    let load = Load::Fixed(10_000);
    vec![Case { parameter: None, load, isolated: true, rounds: None, contenders }]
}

fn corosensei(watched: Watched) -> Contender {
    Contender::measured("corosensei", move |n| {
        let mut all = Vec::with_capacity(n as usize);
        let start = Instant::now();
        for made in 0..n as usize {
            let stack = DefaultStack::new(STACK).map_err(|e| Failure::stopped_at(made, e))?;
            all.push(Coroutine::<(), (), ()>::with_stack(stack, |co, ()| co.suspend(())));
        }
        let created = start.elapsed();
        for co in &mut all {
            co.resume(());
        }
        let turn = watched.of(created, start.elapsed() - created, n);
        std::mem::forget(all);
        Ok(turn)
    })
}

fn generator(watched: Watched) -> Contender {
    Contender::measured("generator", move |n| {
        let mut all = Vec::with_capacity(n as usize);
        let start = Instant::now();
        for _ in 0..n {
            all.push(Gn::<()>::new_scoped_opt(STACK / size_of::<usize>(), |mut co| {
                co.yield_with(());
            }));
        }
        let created = start.elapsed();
        for co in &mut all {
            co.resume();
        }
        let turn = watched.of(created, start.elapsed() - created, n);
        std::mem::forget(all);
        Ok(turn)
    })
}

/// Tasks have no stack; their first poll stands for the first resume.
fn tokio(watched: Watched) -> Contender {
    Contender::measured("tokio", move |n| {
        let polled = Arc::new(AtomicU64::new(0));
        let runtime = peers::tokio_on_this_thread()?;
        Ok(runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..n {
                let polled = polled.clone();
                tokio::spawn(async move {
                    polled.fetch_add(1, Ordering::Relaxed);
                    std::future::pending::<()>().await;
                });
            }
            let created = start.elapsed();
            while polled.load(Ordering::Relaxed) < n {
                tokio::task::yield_now().await;
            }
            watched.of(created, start.elapsed() - created, n)
        }))
    })
}

/// The threads stay alive until all are made.
fn thread_creation() -> Contender {
    Contender::measured("thread", |n| {
        let n = n.min(THREADS);
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock();
        let mut all = Vec::with_capacity(n as usize);
        let start = Instant::now();
        for made in 0..n as usize {
            let gate = gate.clone();
            let thread = thread::Builder::new().spawn(move || drop(gate.lock()));
            all.push(thread.map_err(|e| Failure::stopped_at(made, e))?);
        }
        let turn = Turn::ns(start.elapsed(), n).with_note(format!("{} of them", grouped(n)));
        drop(closed);
        for thread in all {
            thread.join().map_err(|_| Failure::failed("a thread panicked"))?;
        }
        Ok(turn)
    })
}

/// From the call that starts a thread until its body runs.
fn thread_start() -> Contender {
    Contender::measured("thread", |n| {
        let n = n.min(THREADS);
        let mut waited = Duration::ZERO;
        for _ in 0..n {
            let start = Instant::now();
            waited += thread::spawn(move || start.elapsed())
                .join()
                .map_err(|_| Failure::failed("a thread panicked"))?;
        }
        Ok(Turn::ns(waited, n).with_note(format!("{} of them, one after another", grouped(n))))
    })
}
