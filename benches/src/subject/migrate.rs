//! leno in `migrate`.

use std::hint::black_box;

use leno::{Builder, Step, Suspender};

use crate::bench::migrate::relay;
use crate::contender::{Contender, Failure, Turn};

type Co = Suspender<usize, usize>;

/// Sent to let the coroutine finish, on the thread that made it.
const FINISH: usize = usize::MAX;

pub fn migrate(depth: usize) -> Vec<Contender> {
    vec![Contender::measured("leno", move |n| {
        let body = move |co: &Co, v: usize| {
            descend(co, depth, v);
        };
        // SAFETY: the body keeps nothing that belongs to a thread across a suspend.
        let migrant = unsafe { Builder::new().migratable(body) }.map_err(Failure::failed)?;
        migrant.resume(0).map_err(Failure::failed)?;
        let took = relay(n, || {
            migrant.steal().expect("it is suspended, and this thread's turn");
            let step = migrant.resume(1).expect("it was just stolen");
            assert!(matches!(step, Step::Suspended(_)));
        });
        migrant.steal().map_err(Failure::failed)?;
        migrant.resume(FINISH).map_err(Failure::failed)?;
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
