//! Creating, running to the end and freeing, with a stack that was used before.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use generator::Gn;

use super::{Bench, Case, Chart};
use crate::bench::rings::STACK;
use crate::contender::{Contender, Turn};
use crate::external::{self, Tool};
use crate::outcome::Verdict;
use crate::{peers, subject};

pub const CREATE_RUN_FINISH: Bench = Bench {
    name: "create-run-finish",
    unit: "ns",
    about: "create a coroutine on a stack used before, run it to its end, free it",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let mut contenders = subject::create_run_finish();
        contenders.extend([corosensei(), generator(), may(), tokio(), thread()]);
        let created = scale.pick(100_000, 1_000_000);
        contenders.extend(Tool::ALL.map(|t| external::contender(t, "create", 1, created)));
        Case::only(contenders)
    },
    judge: |outcome| {
        let mut verdicts: Vec<Verdict> =
            outcome.at_most(None, "leno", "corosensei", 2.0).into_iter().collect();
        verdicts.extend(outcome.at_least("thread", "leno", 8.3));
        verdicts
    },
};

fn corosensei() -> Contender {
    let mut kept = Some(DefaultStack::new(STACK).expect("one stack can be had"));
    Contender::timed("corosensei", move |n| {
        for i in 0..n {
            let stack = kept.take().expect("the stack came back");
            let mut co = Coroutine::<u64, (), u64>::with_stack(stack, |_, v| v + 1);
            match co.resume(i) {
                CoroutineResult::Return(v) => black_box(v),
                CoroutineResult::Yield(()) => unreachable!("it never suspends"),
            };
            kept = Some(co.into_stack());
        }
    })
}

/// A finished generator is given new code, which keeps its stack.
fn generator() -> Contender {
    let mut co = Gn::<u64>::new_scoped_opt(STACK / size_of::<usize>(), |_| 0);
    co.send(0);
    Contender::timed("generator", move |n| {
        for i in 0..n {
            co.scoped_init(|mut co| co.get_yield().unwrap_or(0) + 1);
            black_box(co.send(i));
        }
    })
}

/// Creator and created share one worker; its pool keeps the stacks.
fn may() -> Contender {
    Contender::timed("may", |n| {
        peers::may_on_one_worker();
        let creator = may::go!(move || {
            for i in 0..n {
                let made = may::go!(move || i + 1);
                black_box(made.join().expect("its body does not panic"));
            }
        });
        creator.join().expect("its body does not panic");
    })
}

fn tokio() -> Contender {
    let runtime = peers::tokio_on_this_thread();
    Contender::measured("tokio", move |n| {
        let runtime = runtime.as_ref().map_err(Clone::clone)?;
        let start = Instant::now();
        runtime.block_on(async {
            for i in 0..n {
                let task = tokio::spawn(async move { i + 1 });
                black_box(task.await.expect("its body does not panic"));
            }
        });
        Ok(Turn::ns(start.elapsed(), n))
    })
}

fn thread() -> Contender {
    Contender::timed("thread", |n| {
        for i in 0..n {
            black_box(thread::spawn(move || i + 1).join().expect("its body does not panic"));
        }
    })
}
