//! Replies that processes wait for. Not in `suite`: the leg of thread sanitizer builds it without the others.
#![forbid(unsafe_code)]

use leno_kernel::LocalSystem;
use leno_process::{Plan, process};

/// Asks, and can be asked.
struct Asker;

#[process]
impl Asker {
    #[entry]
    fn ask(&mut self, other: AnswererRef) -> u32 {
        other.answer().unwrap().wait().unwrap()
    }

    #[entry]
    fn number(&mut self) -> u32 {
        3
    }
}

struct Answerer;

#[process]
impl Answerer {
    #[entry]
    fn answer(&mut self) -> u32 {
        4
    }

    #[entry]
    fn ask(&mut self, other: AskerRef) -> u32 {
        other.number().unwrap().wait().unwrap()
    }
}

/// One that was answered, and has not had its turn since, waits for nobody.
#[test]
fn whoever_was_answered_is_in_no_circle() {
    let system = LocalSystem::new();
    let (asker, first) = Plan::new().prepare(Asker);
    let (answerer, second) = Plan::new().prepare(Answerer);
    let numbers = system.spawn(move || {
        // The asker waits before the answerer begins, which finds both calls.
        drop(first.spawn().unwrap());
        let asked = asker.ask(answerer.clone()).unwrap();
        leno_kernel::yield_now();
        leno_kernel::yield_now();
        let back = answerer.ask(asker.clone()).unwrap();
        drop(second.spawn().unwrap());
        (asked.wait().unwrap(), back.wait().unwrap())
    });
    system.run().unwrap();
    assert_eq!(numbers.join().unwrap(), (4, 3));
}
