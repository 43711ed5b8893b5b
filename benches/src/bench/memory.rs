//! Bytes a suspended coroutine costs when there are a million: resident pages plus page tables,
//! its control block and its handle included. Each contender is measured in a process of its own.
//!
//! A contender that reaches a limit of the system before the million is measured at that point,
//! and its note says where it stopped.

use std::sync::{Arc, Mutex};
use std::thread;

use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use generator::Gn;

use super::{Bench, Case, Chart, Load, Scale};
use crate::contender::{Contender, Failure, Result, Turn};
use crate::machine::resident_bytes;
use crate::number::grouped;
use crate::outcome::{Outcome, Verdict};
use crate::{peers, subject};

/// The smallest stack that runs the body: one page.
const SMALLEST: usize = 4 * 1024;

const THREADS: u64 = 1_000;

pub const MEMORY: Bench = Bench {
    name: "memory",
    unit: "bytes",
    about: "memory of one suspended coroutine among 1,000,000 (--quick: 100,000)",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale: Scale| {
        let mut contenders = subject::memory();
        contenders.extend([corosensei(), generator(), tokio(), thread()]);
        let load = Load::Fixed(scale.pick(100_000, 1_000_000));
        vec![Case { parameter: None, load, isolated: true, rounds: Some(1), contenders }]
    },
    judge: |outcome| {
        let limits = [("leno", 4300.0), ("leno shared", 512.0)];
        limits.into_iter().filter_map(|(name, limit)| at_most(outcome, name, limit)).collect()
    },
};

fn at_most(outcome: &Outcome, name: &str, limit: f64) -> Option<Verdict> {
    let value = outcome.case(None)?.median(name)?;
    Some(Verdict {
        text: format!("{name} <= {} bytes", grouped(limit as u64)),
        measured: grouped(value as u64),
        met: Some(value <= limit),
    })
}

/// Makes `n` suspended coroutines with `make` and says what each costs. They are not taken down:
/// the process ends after this turn.
pub fn weigh<C>(n: u64, mut make: impl FnMut() -> std::result::Result<C, String>) -> Result {
    let mut all = Vec::with_capacity(n as usize);
    let before = resident_bytes();
    let mut stopped = None;
    while stopped.is_none() && all.len() < n as usize {
        match make() {
            Ok(co) => all.push(co),
            Err(why) => stopped = Some(why),
        }
    }
    let made = all.len() as u64;
    let turn = Turn::of(resident_bytes().saturating_sub(before) as f64 / made.max(1) as f64);
    std::mem::forget(all);
    match stopped {
        None => Ok(turn),
        Some(why) if made == 0 => Err(Failure::failed(why)),
        Some(why) => Ok(turn.with_note(format!("stopped at {}: {why}", grouped(made)))),
    }
}

fn corosensei() -> Contender {
    Contender::measured("corosensei", |n| {
        weigh(n, || {
            let stack = DefaultStack::new(SMALLEST).map_err(|e| e.to_string())?;
            let mut co = Coroutine::<(), (), ()>::with_stack(stack, |co, ()| co.suspend(()));
            co.resume(());
            Ok(co)
        })
    })
}

fn generator() -> Contender {
    Contender::measured("generator", |n| {
        weigh(n, || {
            let make = || {
                let words = SMALLEST / size_of::<usize>();
                let mut co = Gn::<()>::new_scoped_opt(words, |mut co| co.yield_with(()));
                co.resume();
                co
            };
            // It panics where others return an error.
            std::panic::catch_unwind(make).map_err(|_| "panicked: failed to alloc sys stack".into())
        })
    })
}

/// A task that waits holds no stack, only what lives across its await: here one number.
fn tokio() -> Contender {
    Contender::measured("tokio", |n| {
        let runtime = peers::tokio_on_this_thread()?;
        let before = resident_bytes();
        let mut tasks = Vec::with_capacity(n as usize);
        for i in 0..n {
            tasks.push(runtime.spawn(async move {
                tokio::task::yield_now().await;
                std::future::pending::<()>().await;
                std::hint::black_box(i)
            }));
        }
        runtime.block_on(tokio::task::yield_now());
        let bytes = resident_bytes().saturating_sub(before);
        std::mem::forget(tasks);
        std::mem::forget(runtime);
        Ok(Turn::of(bytes as f64 / n as f64))
    })
}

fn thread() -> Contender {
    Contender::measured("thread", |n| {
        let n = n.min(THREADS);
        // Held until the process ends: the threads wait for it in their bodies.
        let gate = Arc::new(Mutex::new(()));
        std::mem::forget(gate.lock());
        let turn = weigh(n, || {
            let gate = gate.clone();
            thread::Builder::new().spawn(move || drop(gate.lock())).map_err(|e| e.to_string())
        })?;
        let note = turn.note.clone().unwrap_or_default();
        Ok(turn.with_note(format!(
            "{} of them, the kernel's own share not counted {note}",
            grouped(n)
        )))
    })
}
