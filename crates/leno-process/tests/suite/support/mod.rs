//! What several of these tests need.
#![allow(dead_code, reason = "some builds leave out the tests that use it")]

pub(crate) mod clerk;
pub(crate) mod hostile;

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;

use leno_kernel::LocalSystem;
use leno_process::{Budget, Sink, preemptible};

pub(crate) type Seen = Rc<RefCell<Vec<String>>>;

pub(crate) fn say(seen: &Seen, word: impl Display) {
    seen.borrow_mut().push(word.to_string());
}

/// Runs `f` as the first coroutine of a preemptive system.
pub(crate) fn inside<T: 'static>(f: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::builder().preemptive().build();
    let result = system.spawn(f);
    system.run().unwrap();
    result.join().unwrap()
}

/// The scheduler of Madsen 2021: each gets its budget in turn, until all have ended. How many slices
/// that took.
pub(crate) fn round_robin(sink: &Sink, budget: Budget) -> usize {
    let mut slices = 0;
    while let Some(co) = sink.next() {
        co.attach(budget).unwrap();
        slices += 1;
    }
    slices
}

#[preemptible]
pub(crate) fn count_aloud(name: &str, seen: &Seen) {
    for n in 0..300_000u32 {
        if n % 50_000 == 0 {
            say(seen, format!("{name}{}", n / 50_000));
        }
    }
}
