//! What a coroutine does, known to its body and to its resumer.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use leno_coroutine::{Coroutine, Suspender, ring};

use crate::random::Random;

/// How many [`Counted`] values there have been.
pub(crate) static MADE: AtomicUsize = AtomicUsize::new(0);
/// How many of them have been dropped.
pub(crate) static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Something whose destructor must run.
pub(crate) struct Counted(Box<usize>);

impl Counted {
    pub(crate) fn new() -> Counted {
        Counted(Box::new(MADE.fetch_add(1, SeqCst)))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(*self.0 < MADE.load(SeqCst));
        DROPPED.fetch_add(1, SeqCst);
    }
}

/// What a coroutine does, known to its body and to its resumer.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) steps: u64,
    pub(crate) way: Way,
    pub(crate) panics: bool,
}

/// From where a body suspends.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Plain,
    /// From so many calls down.
    Deep(u32),
    /// Hands on what a coroutine of its own gives.
    Inner,
    /// From a member of a ring that it has entered, which suspends it with the ring.
    Ring,
}

/// The payload of a planned panic.
pub(crate) struct Planned(pub(crate) u64);

impl Plan {
    pub(crate) fn random(random: &mut Random) -> Plan {
        let way = match random.below(6) {
            0 | 1 => Way::Plain,
            2 | 3 => Way::Deep(random.below(12) as u32),
            4 => Way::Inner,
            _ => Way::Ring,
        };
        Plan { steps: random.below(9) as u64, way, panics: random.below(4) == 0 }
    }

    /// What is given in answer to `input` at a step.
    pub(crate) fn answer(step: u64, input: u64) -> u64 {
        (input ^ step).wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn run(self, co: &Suspender<u64, u64>, mut input: u64) -> u64 {
        let _body = Counted::new();
        for step in 0..self.steps {
            let _step = Counted::new();
            let out = Plan::answer(step, input);
            input = match self.way {
                Way::Plain => co.suspend(out),
                Way::Deep(calls) => deep(co, calls, out),
                Way::Inner => through_inner(co, out),
                Way::Ring => through_ring(co, out),
            };
        }
        if self.panics {
            resume_unwind(Box::new(Planned(Plan::answer(self.steps, input))));
        }
        Plan::answer(self.steps, input)
    }
}

fn deep(co: &Suspender<u64, u64>, calls: u32, out: u64) -> u64 {
    let room = [out; 16];
    let _counted = Counted::new();
    let input = match calls {
        0 => co.suspend(out),
        _ => deep(co, calls - 1, out),
    };
    assert_eq!(std::hint::black_box(room), [out; 16], "a frame was changed while suspended");
    input
}

/// The inner coroutine stays suspended while the outer one is, and is dropped with it.
fn through_inner(co: &Suspender<u64, u64>, out: u64) -> u64 {
    let inner = Coroutine::new(|inner: &Suspender<u64, u64>, first| {
        let _counted = Counted::new();
        inner.suspend(first)
    });
    let given = inner.resume(out).suspended().expect("it suspends once");
    let input = co.suspend(given);
    inner.resume(input).finished().expect("and then returns")
}

fn through_ring(co: &Suspender<u64, u64>, out: u64) -> u64 {
    let input = Cell::new(None);
    ring::scope(|s| {
        s.spawn(|| ring::wait_until(|| input.get().is_some()));
        s.spawn(|| {
            let _counted = Counted::new();
            input.set(Some(co.suspend(out)));
        });
        ring::wait_until(|| input.get().is_some());
    });
    input.get().expect("set by the member")
}
