//! Fibres: endless loops that end, and a pipeline that becomes one loop.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use leno::fibre::channel;
use leno::fibre::chip::fuse::{Stage, keep, map};
use leno::fibre::chip::{Transducer, filter, function, iterate, sink_to_list};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "fibres",
    shows: "Fibres know each other by channels alone: whoever nobody can ever wake is removed, so\n\
            endless loops end. A pipeline of them may become one fibre, or one loop of the compiler.",
    run: fibres,
    read: "leno::fibre, docs/control-types.md, examples 12 to 14 and 16 to 19",
};

const COUNT: u64 = 100_000;

fn fibres() -> Result<String, String> {
    let printed = Rc::new(RefCell::new(String::new()));
    let print = printed.clone();
    let ran = leno::run(move |cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| (1..=10).for_each(|i| out.write(cx, i)));
        cx.spawn(move |cx| {
            loop {
                *print.borrow_mut() += &format!("{} ", inp.read(cx))
            }
        });
    });
    say!("a sink that loops for ever prints {}and is removed: {}", printed.borrow(), ran.report());
    expect(&printed.borrow().as_str(), &"1 2 3 4 5 6 7 8 9 10 ")?;
    expect(&(ran.report().removed, ran.zombies().len()), &(1, 0))?;

    let piped = half() | odd() | square();
    let principal = piped.control_type().ok_or("no principal type")?;
    let (values, by_fibres) = timed(piped)?;
    let fused = half().fuse(odd()).fuse(square());
    let own = fused.control_type().ok_or("no type")?;
    let (same, by_one) = timed(fused)?;
    own.included_in(&principal).map_err(|excess| excess.to_string())?;
    let loops = map(|n: u64| n / 2).then(keep(|n: &u64| n % 2 == 1)).then(map(|n| n * n));
    let start = Instant::now();
    let mut by_compiler = Vec::new();
    loops.drive(0..COUNT, |n| by_compiler.push(n));
    let by_loop = start.elapsed().as_nanos() as u64 / COUNT;
    say!("three stages as fibres, {principal}: {by_fibres} ns a value");
    say!("fused to one fibre, {own}, which the former allows: {by_one} ns");
    say!("known to the compiler, one loop: {by_loop} ns");
    expect(&(values.len(), values == same, values == by_compiler), &(50_000, true, true))?;
    Ok(format!("{} values the same three ways", values.len()))
}

fn half() -> Transducer<u64, u64> {
    function(|n| n / 2)
}

fn odd() -> Transducer<u64, u64> {
    filter(|n: &u64| n % 2 == 1, |n| n)
}

fn square() -> Transducer<u64, u64> {
    function(|n| n * n)
}

/// Runs a closed pipeline of these stages: what its sink has got, and the nanoseconds for each value
/// that went in.
fn timed(stages: Transducer<u64, u64>) -> Result<(Vec<u64>, u64), String> {
    let list = Rc::default();
    let closed = iterate(0..COUNT) | stages | sink_to_list(Rc::clone(&list));
    let start = Instant::now();
    let ran = leno::run(move |cx| drop(closed.start(cx, ())));
    expect(&(ran.zombies().len(), ran.report().panicked), &(0, 0))?;
    Ok((list.take(), start.elapsed().as_nanos() as u64 / COUNT))
}
