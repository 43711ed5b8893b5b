//! leno in `pipeline`: fibres, one fibre of all adders, one of everything, and a loop.
//!
//! Pipelines are put together once, before anything is timed: that works out control types.

use std::cell::Cell;
use std::rc::Rc;

use leno::fibre::channel;
use leno::fibre::chip::fuse::{Stage, map};
use leno::fibre::chip::{
    Chip, Source, Transducer, function, iterate_with, pipeline_list, procedure,
};

use crate::bench::pipeline::{ADDERS, expected, input};
use crate::contender::Contender;

pub fn pipeline() -> Vec<Contender> {
    let count = Rc::new(Cell::new(0));
    let (piped, fused) = (source(&count, adders()), source(&count, adders().fused()));
    let sum = Rc::new(Cell::new(0));
    let own = sum.clone();
    let add_up = procedure(move |value| own.set(own.get() + value));
    let whole: Chip<()> = (source(&count, adders()) | add_up).fused();
    assert!(whole.is_one_fibre());
    let [set, set_fused, set_whole] = [count.clone(), count.clone(), count];
    vec![
        Contender::timed("leno", move |n| {
            set.set(n);
            run(n, piped.clone());
        }),
        Contender::timed("leno fused chip", move |n| {
            set_fused.set(n);
            run(n, fused.clone());
        }),
        Contender::timed("leno fused whole", move |n| {
            set_whole.set(n);
            let whole = whole.clone();
            leno::run(move |cx| drop(whole.start(cx, ())));
            assert_eq!(sum.take(), expected(n));
        }),
        Contender::timed("leno fused", |n| {
            let adders = map(add).then(map(add)).then(map(add)).then(map(add));
            let mut sum = 0;
            adders.drive((1..=n).map(input), |value| sum += value);
            assert_eq!(sum, expected(n));
        }),
    ]
}

fn add(value: u64) -> u64 {
    value + 1
}

fn adders() -> Transducer<u64, u64> {
    pipeline_list((0..ADDERS).map(|_| function(add)))
}

/// As many values as `count` says when it starts, and what becomes of them.
fn source(count: &Rc<Cell<u64>>, adders: Transducer<u64, u64>) -> Source<u64> {
    let count = count.clone();
    iterate_with(move || (1..=count.get()).map(input)) | adders
}

/// Takes all that comes.
fn run(n: u64, source: Source<u64>) {
    let ran = leno::run(move |cx| {
        let (out, inp) = channel();
        source.start(cx, out);
        (0..n).map(|_| inp.read(cx)).sum::<u64>()
    });
    assert_eq!(ran.result(), Some(expected(n)));
}
