//! diapause in the benches of stored coroutines: a state machine made by a macro, an enum that serde writes.
//! A callee is inside its caller's state, so whatever is done goes through all of them.

use std::hint::black_box;
use std::time::Instant;

use ::diapause::{Coroutine, CoroutineState};
use serde::{Deserialize, Serialize};

use super::{Frame, frame};
use crate::contender::{Contender, Turn};

#[::diapause::coroutine(yield = u64, resume = u64)]
#[derive(Serialize, Deserialize)]
fn descend(depth: u64) -> u64 {
    let held: Frame = frame(depth as usize);
    if depth > 1 {
        let callee: descend::State = descend(depth - 1);
        let below: u64 = yield_all!(box callee);
        return below + u64::from(held.level);
    }
    let mut sum: u64 = 0;
    while sum != u64::MAX {
        let input: u64 = yield_!(sum);
        sum += input;
    }
    sum + u64::from(held.level)
}

fn suspended(depth: usize) -> descend::State {
    let mut state = descend(depth as u64);
    assert!(matches!(state.start(), CoroutineState::Yielded(0)));
    state
}

pub fn store(depth: usize) -> Contender {
    let suspended = suspended(depth);
    Contender::timed("diapause", move |n| {
        for _ in 0..n {
            black_box(postcard::to_stdvec(black_box(&suspended)).expect("it can be written"));
        }
    })
}

pub fn restore(depth: usize) -> Contender {
    let bytes = postcard::to_stdvec(&suspended(depth)).expect("it can be written");
    Contender::timed("diapause", move |n| {
        for _ in 0..n {
            let read = postcard::from_bytes::<descend::State>(black_box(&bytes));
            black_box(read.expect("it can be read"));
        }
    })
}

pub fn resume(depth: usize) -> Contender {
    Contender::measured("diapause", move |n| {
        let mut suspended = suspended(depth);
        let start = Instant::now();
        for i in 0..n {
            let state = suspended.resume(black_box(i));
            assert!(matches!(black_box(state), CoroutineState::Yielded(_)));
        }
        Ok(Turn::ns(start.elapsed(), n))
    })
}
