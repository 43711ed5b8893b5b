//! A mistake that shows once in many runs: two threads look at a counter and then set it. Exploring
//! finds the schedule, makes it short, says it in words, and names it so that it can be run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use leno::explore::{Explorer, thread};

fn program() {
    let counter = Arc::new(AtomicU32::new(0));
    let adders = ["one", "two"].map(|name| {
        let counter = counter.clone();
        thread::spawn(name, move || {
            let before = counter.load(SeqCst);
            thread::yield_now();
            counter.store(before + 1, SeqCst);
        })
    });
    for adder in adders {
        adder.join().expect("it does not panic");
    }
    assert_eq!(counter.load(SeqCst), 2, "an addition was lost");
}

fn main() {
    let failure = Explorer::new().exhaustive().run(program).expect_err("it is wrong");
    println!("{failure}");
    let again = Explorer::new().replay(failure.shortest().clone()).run(program);
    assert_eq!(again.expect_err("still").trouble(), failure.trouble());
    println!("and again, from its token");
}
