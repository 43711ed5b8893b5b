//! One coroutine, resumed and suspended over and over.
//!
//! Where the coroutine suspends decides what a switch costs. `resume-depth-N` keeps the loop *in*
//! the frame N calls below the body: the depth alone costs nothing. `resume-return-N` returns
//! through N frames between any two suspends, as a recursive producer does: a design that switches
//! by call and return has then filled the processor's stack of return addresses with its own, and
//! every return is mispredicted.

use std::hint::black_box;
use std::sync::{Condvar, Mutex};
use std::thread;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use generator::{Gn, Scope};

use super::{Bench, Case, Chart};
use crate::contender::Contender;
use crate::external::{self, Tool};
use crate::number;
use crate::outcome::{CaseOutcome, Verdict};
use crate::subject;

/// Where the coroutine suspends.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Frames between the body and the suspend.
    pub depth: usize,
    /// Whether it returns through them between two suspends.
    pub returns: bool,
}

/// Tells a coroutine to finish. Never sent while measuring: it only keeps the loops from being
/// endless in the compiler's eyes, which would let it drop the frames they stand in.
pub const FINISH: usize = usize::MAX;

pub const DEPTH_0: Bench = Bench {
    name: "resume-depth-0",
    unit: "ns",
    about: "resume a coroutine and get its value back; it suspends in its body",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let mut contenders = contenders(Shape { depth: 0, returns: false });
        contenders.extend([dyn_call(), thread()]);
        let round_trips = scale.pick(300_000, 2_000_000);
        contenders.extend(Tool::ALL.map(|t| external::contender(t, "resume", 1, round_trips)));
        Case::only(contenders)
    },
    judge: |outcome| {
        let mut verdicts: Vec<Verdict> =
            outcome.at_most(None, "leno", "corosensei", 1.2).into_iter().collect();
        verdicts.extend(outcome.at_least("thread", "leno", 50.0));
        verdicts.extend(outcome.case(None).and_then(switch_beside_call));
        verdicts
    },
};

pub const DEPTH_1: Bench = Bench {
    name: "resume-depth-1",
    about: "the same, the coroutine looping one frame below its body",
    cases: |_| Case::only(contenders(Shape { depth: 1, returns: false })),
    judge: |outcome| outcome.at_most(None, "leno", "corosensei", 1.2).into_iter().collect(),
    ..DEPTH_0
};

pub const DEPTH_4: Bench = Bench {
    name: "resume-depth-4",
    about: "the same, the coroutine looping four frames below its body",
    cases: |_| Case::only(contenders(Shape { depth: 4, returns: false })),
    ..DEPTH_1
};

pub const RETURN_1: Bench = Bench {
    name: "resume-return-1",
    about: "the same, the coroutine returning through one frame between two suspends",
    cases: |_| Case::only(contenders(Shape { depth: 1, returns: true })),
    judge: |outcome| outcome.at_most(None, "leno", "corosensei", 0.3).into_iter().collect(),
    ..DEPTH_0
};

pub const RETURN_4: Bench = Bench {
    name: "resume-return-4",
    about: "the same, the coroutine returning through four frames between two suspends",
    cases: |_| Case::only(contenders(Shape { depth: 4, returns: true })),
    ..RETURN_1
};

/// A round trip is two switches; Stadler (2011) compares one of them with a polymorphic call.
fn switch_beside_call(case: &CaseOutcome) -> Option<Verdict> {
    let value = case.ratio("leno", "dyn call")? / 2.0;
    Some(Verdict {
        text: "a switch, half of leno's figure, < 2 x dyn call".into(),
        measured: number::ratio(value),
        met: Some(value < 2.0),
    })
}

fn contenders(shape: Shape) -> Vec<Contender> {
    let mut all = subject::resume(shape);
    all.extend([corosensei(shape), generator(shape)]);
    all
}

fn corosensei(shape: Shape) -> Contender {
    #[inline(never)]
    fn looping(co: &Yielder<usize, usize>, depth: usize, mut v: usize) -> usize {
        if depth > 1 {
            return black_box(looping(co, depth - 1, v));
        }
        while v != FINISH {
            v = co.suspend(v + 1);
        }
        v
    }
    #[inline(never)]
    fn returning(co: &Yielder<usize, usize>, depth: usize, v: usize) -> usize {
        black_box(if depth > 1 { returning(co, depth - 1, v) } else { co.suspend(v + 1) })
    }
    let mut co = Coroutine::<usize, usize, ()>::new(move |co, mut v| match shape {
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
    Contender::timed("corosensei", move |n| {
        let mut v = 0;
        for _ in 0..n {
            match co.resume(v) {
                CoroutineResult::Yield(out) => v = out,
                CoroutineResult::Return(()) => unreachable!("nobody asked it to finish"),
            }
        }
        black_box(v);
    })
}

fn generator(shape: Shape) -> Contender {
    type Co<'s> = Scope<'s, 'static, usize, usize>;
    fn suspend(co: &mut Co, v: usize) -> usize {
        co.yield_(v + 1).unwrap_or(FINISH)
    }
    #[inline(never)]
    fn looping(co: &mut Co, depth: usize, mut v: usize) -> usize {
        if depth > 1 {
            return black_box(looping(co, depth - 1, v));
        }
        while v != FINISH {
            v = suspend(co, v);
        }
        v
    }
    #[inline(never)]
    fn returning(co: &mut Co, depth: usize, v: usize) -> usize {
        black_box(if depth > 1 { returning(co, depth - 1, v) } else { suspend(co, v) })
    }
    let mut co = Gn::<usize>::new_scoped(move |mut co| {
        let mut v = co.get_yield().unwrap_or(0);
        match shape {
            Shape { depth: 0, .. } => {
                while v != FINISH {
                    v = suspend(&mut co, v);
                }
            }
            Shape { depth, returns: false } => v = looping(&mut co, depth, v),
            Shape { depth, returns: true } => {
                while v != FINISH {
                    v = returning(&mut co, depth, v);
                }
            }
        }
        v
    });
    Contender::timed("generator", move |n| {
        let mut v = 0;
        for _ in 0..n {
            v = co.send(v);
        }
        black_box(v);
    })
}

/// What a call costs whose target the compiler cannot see.
fn dyn_call() -> Contender {
    trait Callee {
        fn call(&mut self, v: usize) -> usize;
    }
    struct AddOne;
    impl Callee for AddOne {
        fn call(&mut self, v: usize) -> usize {
            v + 1
        }
    }
    let mut callee: Box<dyn Callee> = black_box(Box::new(AddOne));
    Contender::timed("dyn call", move |n| {
        let mut v = 0;
        for _ in 0..n {
            v = black_box(&mut callee).call(v);
        }
        black_box(v);
    })
}

/// Two OS threads that hand a value to and fro under a mutex and a condition variable.
fn thread() -> Contender {
    struct Slot {
        value: usize,
        /// Whose turn it is: the asker's or the answerer's.
        asked: bool,
    }
    Contender::timed("thread", |n| {
        let slot = Mutex::new(Slot { value: 0, asked: false });
        let changed = Condvar::new();
        // Waits until the slot is on one's side, changes the value, passes it to the other side.
        let pass = |side: bool, change: usize| {
            let slot = slot.lock().expect("neither side panics");
            let mut slot =
                changed.wait_while(slot, |s| s.asked != side).expect("neither side panics");
            slot.value += change;
            slot.asked = !side;
            changed.notify_one();
        };
        thread::scope(|scope| {
            scope.spawn(|| (0..n).for_each(|_| pass(true, 1)));
            (0..n).for_each(|_| pass(false, 0));
        });
        assert_eq!(slot.into_inner().expect("neither side panics").value, n as usize);
    })
}
