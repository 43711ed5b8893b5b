//! A generator: the smallest coroutine.

use leno::Coroutine;

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "generator",
    shows: "A coroutine keeps its place and its locals between resumes.\n\
            This one never ends; its consumer takes what it wants.",
    run: generator,
    read: "leno::Coroutine, example 02_counter",
};

fn generator() -> Result<String, String> {
    let fib = Coroutine::new(|co, ()| {
        let (mut a, mut b) = (0, 1);
        loop {
            co.suspend(a);
            (a, b) = (b, a + b);
        }
    });
    let first: Vec<u64> = fib.iter().take(12).collect();
    say!("fibonacci: {first:?}");
    expect(&first, &vec![0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])?;
    Ok("12 of endlessly many numbers".to_owned())
}
