//! leno in `resume-depth-N` and `resume-return-N`.

use std::hint::black_box;

use leno::{Coroutine, Step, Suspender};

use crate::bench::resume::{FINISH, Shape};
use crate::contender::Contender;

type Co = Suspender<usize, usize>;

pub fn resume(shape: Shape) -> Vec<Contender> {
    let co: Coroutine<usize, usize, ()> =
        Coroutine::new(move |co: &Co, mut v: usize| match shape {
            Shape { depth: 0, .. } => {
                while v != FINISH {
                    v = co.suspend(v + 1);
                }
            }
            Shape { depth, returns: false } => {
                looping(co, depth, v);
            }
            Shape { depth, returns: true } => {
                while v != FINISH {
                    v = returning(co, depth, v);
                }
            }
        });
    vec![Contender::timed("leno", move |n| {
        let mut v = 0;
        for _ in 0..n {
            match co.resume(v) {
                Step::Suspended(out) => v = out,
                Step::Finished(()) => unreachable!("nobody asked it to finish"),
            }
        }
        black_box(v);
    })]
}

#[inline(never)]
fn looping(co: &Co, depth: usize, mut v: usize) -> usize {
    if depth > 1 {
        return black_box(looping(co, depth - 1, v));
    }
    while v != FINISH {
        v = co.suspend(v + 1);
    }
    v
}

#[inline(never)]
fn returning(co: &Co, depth: usize, v: usize) -> usize {
    black_box(if depth > 1 { returning(co, depth - 1, v) } else { co.suspend(v + 1) })
}
