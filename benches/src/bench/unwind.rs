//! Dropping a coroutine that is suspended: its frames are unwound and their destructors run.

use std::hint::black_box;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use generator::{Gn, Scope};

use super::{Bench, Case, Chart, Load};
use crate::bench::rings::STACK;
use crate::contender::Contender;
use crate::subject;

pub const FORCED_UNWIND: Bench = Bench {
    name: "forced-unwind",
    unit: "ns",
    about: "create a coroutine, run it to a suspend this many frames below its body, drop it",
    parameter: "frames",
    chart: Chart::Dots,
    cases: |_| [0, 16].map(case).into(),
    judge: |_| vec![],
};

fn case(depth: usize) -> Case {
    let mut contenders = subject::forced_unwind(depth);
    contenders.extend([corosensei(depth), generator(depth)]);
    Case {
        parameter: Some(depth as u64),
        load: Load::Filling { granule: 1 },
        isolated: false,
        rounds: None,
        contenders,
    }
}

/// Every frame owns one of these, so that unwinding has a destructor to run in each.
pub struct Owned(pub usize);

impl Drop for Owned {
    fn drop(&mut self) {
        black_box(self.0);
    }
}

/// The stack comes back when the coroutine was unwound, as it does when it finished.
fn corosensei(depth: usize) -> Contender {
    #[inline(never)]
    fn descend(co: &Yielder<(), ()>, depth: usize) {
        let _owned = Owned(depth);
        if depth == 0 { co.suspend(()) } else { descend(co, depth - 1) }
    }
    let mut kept = Some(DefaultStack::new(STACK).expect("one stack can be had"));
    Contender::timed("corosensei", move |n| {
        for _ in 0..n {
            let stack = kept.take().expect("the stack came back");
            let mut co =
                Coroutine::<(), (), ()>::with_stack(stack, move |co, ()| descend(co, depth));
            assert!(matches!(co.resume(()), CoroutineResult::Yield(())));
            co.force_unwind();
            kept = Some(co.into_stack());
        }
    })
}

fn generator(depth: usize) -> Contender {
    #[inline(never)]
    fn descend(co: &mut Scope<'_, '_, (), ()>, depth: usize) {
        let _owned = Owned(depth);
        if depth == 0 { co.yield_with(()) } else { descend(co, depth - 1) }
    }
    let mut co = Gn::<()>::new_scoped_opt(STACK / size_of::<usize>(), |_| ());
    co.send(());
    Contender::timed("generator", move |n| {
        for _ in 0..n {
            co.scoped_init(move |mut co| descend(&mut co, depth));
            co.resume();
            co.cancel();
        }
    })
}
