//! What exploring finds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use leno::channel::shared::channel;
use leno::explore::{Explorer, thread};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "explore",
    shows: "A mistake that shows once in many runs is found by running every schedule, on the\n\
            kernel of production, then shrunk, told in words, and run again from its token.",
    run: explore,
    read: "docs/testing.md, example 10_explore",
};

/// Two threads that look at a counter, and then set it.
pub(crate) fn lossy() {
    let counter = Arc::new(AtomicU32::new(0));
    let adders = ["one", "two"].map(|name| {
        let counter = counter.clone();
        thread::spawn(name, move || {
            let before = counter.load(SeqCst);
            thread::yield_now();
            counter.store(before + 1, SeqCst);
        })
    });
    adders.into_iter().for_each(|adder| adder.join().expect("it does not panic"));
    assert_eq!(counter.load(SeqCst), 2, "an addition was lost");
}

fn right() {
    let (tx, rx) = channel();
    let adders = ["one", "two"].map(|name| {
        let tx = tx.clone();
        thread::spawn(name, move || tx.send(1).is_ok())
    });
    drop(tx);
    assert_eq!(rx.iter().sum::<u32>(), 2);
    adders.into_iter().for_each(|adder| assert_eq!(adder.join().ok(), Some(true)));
}

fn explore() -> Result<String, String> {
    let Err(failure) = Explorer::new().exhaustive().run(lossy) else {
        return Err("the lost addition was not found".to_owned());
    };
    say!("two threads look at a counter, and then set it:\n{failure}");
    let again = Explorer::new().replay(failure.shortest().clone()).run(lossy);
    expect(&again.err().map(|again| again.trouble().clone()), &Some(failure.trouble().clone()))?;
    let explorer = Explorer::new().exhaustive().most_interruptions(3);
    let summary = explorer.run(right).map_err(|failure| failure.to_string())?;
    say!("the same over a channel is right under all schedules with three interruptions");
    Ok(format!("found in run {}, and {} runs without fault", failure.runs(), summary.runs()))
}
