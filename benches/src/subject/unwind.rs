//! leno in `forced-unwind`.

use leno::{Coroutine, Step, Suspender};

use crate::bench::unwind::Owned;
use crate::contender::Contender;

pub fn forced_unwind(depth: usize) -> Vec<Contender> {
    vec![Contender::timed("leno", move |n| {
        for _ in 0..n {
            let co: Coroutine<(), (), ()> =
                Coroutine::new(move |co: &Suspender<(), ()>, ()| descend(co, depth));
            assert!(matches!(co.resume(()), Step::Suspended(())));
            drop(co);
        }
    })]
}

#[inline(never)]
fn descend(co: &Suspender<(), ()>, depth: usize) {
    let _owned = Owned(depth);
    if depth == 0 { co.suspend(()) } else { descend(co, depth - 1) }
}
