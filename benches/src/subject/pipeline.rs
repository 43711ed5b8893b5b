//! leno in `pipeline`: fibres, one fibre of all adders, and a loop.

use std::cell::Cell;
use std::rc::Rc;

use leno::fibre::channel;
use leno::fibre::chip::fuse::{Stage, map};
use leno::fibre::chip::{Pipe, Transducer, function, iterate, pipeline_list, procedure};

use crate::bench::pipeline::{ADDERS, expected, input};
use crate::contender::Contender;

pub fn pipeline() -> Vec<Contender> {
    vec![
        Contender::timed("leno", |n| run(n, pipeline_list((0..ADDERS).map(|_| adder())))),
        Contender::timed("leno fused chip", |n| {
            run(n, adder().fuse(adder()).fuse(adder()).fuse(adder()));
        }),
        Contender::timed("leno fused whole", |n| {
            let sum = Rc::new(Cell::new(0));
            let own = sum.clone();
            let add = procedure(move |value| own.set(own.get() + value));
            let values = iterate((1..=n).map(input));
            let whole = (values | pipeline_list((0..ADDERS).map(|_| adder())) | add).fused();
            assert!(whole.is_one_fibre());
            leno::run(move |cx| drop(whole.start(cx, ())));
            assert_eq!(sum.get(), expected(n));
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

fn adder() -> Transducer<u64, u64> {
    function(add)
}

/// Source, adders and sink.
fn run(n: u64, adders: Transducer<u64, u64>) {
    let ran = leno::run(move |cx| {
        let (out, inp) = channel();
        iterate((1..=n).map(input)).pipe(adders).start(cx, out);
        (0..n).map(|_| inp.read(cx)).sum::<u64>()
    });
    assert_eq!(ran.result(), Some(expected(n)));
}
