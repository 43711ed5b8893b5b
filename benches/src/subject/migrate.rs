//! leno in `migrate`.

use std::hint::black_box;

use leno::{Builder, Step, Suspender};

use crate::bench::migrate::{BATCH, relay};
use crate::contender::{Contender, Failure, Turn};

type Co = Suspender<usize, usize>;

/// Sent to let a coroutine finish, on the thread that made it.
const FINISH: usize = usize::MAX;

pub fn migrate(depth: usize) -> Vec<Contender> {
    vec![Contender::measured("leno", move |n| {
        let mut all = Vec::new();
        for made in 0..BATCH as usize {
            let body = move |co: &Co, v: usize| {
                descend(co, depth, v);
            };
            // SAFETY: the body keeps nothing that belongs to a thread across a suspend.
            let migrant = unsafe { Builder::new().migratable(body) };
            let migrant = migrant.map_err(|e| Failure::stopped_at(made, e))?;
            migrant.try_resume(0).map_err(Failure::failed)?;
            all.push(migrant);
        }
        let took = relay(n / BATCH, || {
            for migrant in &all {
                migrant.steal().expect("it is suspended, and it is this thread's turn");
                let step = migrant.resume(1);
                assert!(matches!(step, Step::Suspended(_)));
            }
        });
        // The steps are even in number: all are back on the thread that made them.
        for migrant in &all {
            migrant.try_resume(FINISH).map_err(Failure::failed)?;
        }
        Ok(Turn::ns(took, n))
    })]
}

/// Suspends over and over, `depth` frames below the body.
#[inline(never)]
fn descend(co: &Co, depth: usize, mut v: usize) -> usize {
    if depth > 1 {
        return black_box(descend(co, depth - 1, v));
    }
    while v != FINISH {
        v = co.suspend(v + 1);
    }
    v
}
