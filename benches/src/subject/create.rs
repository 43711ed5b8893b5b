//! leno in `create-run-finish`, `create-new-stack` and `first-resume`.

use std::hint::black_box;
use std::time::Instant;

use leno::{Builder, Coroutine, Step, Suspender};

use crate::bench::rings::STACK;
use crate::contender::{Contender, Failure, Turn};

/// The default pool keeps the stack from one coroutine to the next.
pub fn create_run_finish() -> Vec<Contender> {
    vec![Contender::timed("leno", |n| {
        for i in 0..n {
            let co: Coroutine<u64, (), u64> =
                Coroutine::new(|_: &Suspender<u64, ()>, v: u64| v + 1);
            match co.resume(i) {
                Step::Finished(v) => black_box(v),
                Step::Suspended(()) => unreachable!("it never suspends"),
            };
        }
    })]
}

pub fn create_new_stack() -> Vec<Contender> {
    vec![Contender::measured("leno", |n| fresh(n).map(|(created, _)| created))]
}

pub fn first_resume() -> Vec<Contender> {
    vec![Contender::measured("leno", |n| fresh(n).map(|(_, resumed)| resumed))]
}

/// Creates `n`, then resumes each for the first time; both are timed.
fn fresh(n: u64) -> Result<(Turn, Turn), Failure> {
    let mut all = Vec::with_capacity(n as usize);
    let start = Instant::now();
    for made in 0..n as usize {
        let body = |co: &Suspender<(), ()>, ()| co.suspend(());
        let co = Builder::new().stack_size(STACK).coroutine(body);
        all.push(co.map_err(|e| Failure::stopped_at(made, e))?);
    }
    let created = start.elapsed();
    for co in &all {
        black_box(co.resume(()));
    }
    let resumed = start.elapsed() - created;
    // This turn has a process of its own, which ends now.
    std::mem::forget(all);
    Ok((Turn::ns(created, n), Turn::ns(resumed, n)))
}
