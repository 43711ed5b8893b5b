//! Coroutines that are stored: by the number of their frames, beside a state machine written by hand whose
//! stack serde writes (`state machine`), beside one that a macro makes (`diapause`), and beside plain async code
//! (`async`), which cannot be stored.
//! Stadler (2011) needed 17 + 1.3 f µs to store f frames and 3.5 + 0.25 f µs to restore them.

mod diapause;

use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Bench, Case, Chart, Load, Scale};
use crate::contender::{Contender, Turn};
use crate::number;
use crate::outcome::{Outcome, Verdict};
use crate::stats::straight_line;
use crate::subject;

pub const STORE: Bench = Bench {
    name: "frame-store",
    unit: "ns",
    about: "store a suspended coroutine of so many frames, as postcard",
    parameter: "frames",
    chart: Chart::Curve,
    cases: |_| {
        cases(|depth| {
            let peers = vec![machine_store(depth), diapause::store(depth)];
            [subject::frame_store(depth), peers].concat_all()
        })
    },
    judge: |outcome| judge_line(outcome, (200.0, 50.0)),
};

pub const RESTORE: Bench = Bench {
    name: "frame-restore",
    unit: "ns",
    about: "restore a coroutine of so many frames from bytes, checksum included, and drop it",
    parameter: "frames",
    chart: Chart::Curve,
    cases: |_| {
        cases(|depth| {
            let peers = vec![machine_restore(depth), diapause::restore(depth)];
            [subject::frame_restore(depth), peers].concat_all()
        })
    },
    judge: |outcome| judge_line(outcome, (200.0, 200.0)),
};

pub const RESUME: Bench = Bench {
    name: "frame-resume",
    unit: "ns",
    about: "resume a coroutine of frames and get its value back; it loops that many frames down",
    parameter: "frames",
    chart: Chart::Curve,
    cases: |_| {
        let contenders = |depth| {
            let peers = vec![machine(), plain(depth), diapause::resume(depth)];
            [subject::frame_resume(depth), peers].concat_all()
        };
        [1, 10, 1000].map(|depth| case(depth, contenders(depth))).into()
    },
    judge: |outcome| {
        let at = |depth| {
            let value = outcome.case(Some(depth))?.median("leno")?;
            Some(Verdict {
                text: format!("leno <= 10 ns at {depth}"),
                measured: format!("{} ns", number::measured(value)),
                met: Some(value <= 10.0),
            })
        };
        [1, 10, 1000].into_iter().filter_map(at).collect()
    },
};

pub const MEMORY: Bench = Bench {
    name: "frame-memory",
    unit: "bytes",
    about: "one suspended dialogue of three frames among 1,000,000 (--quick: 100,000), live and as an image",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale: Scale| {
        let load = Load::Fixed(scale.pick(100_000, 1_000_000));
        let contenders = subject::frame_memory();
        vec![Case { parameter: None, load, isolated: true, rounds: Some(1), contenders }]
    },
    judge: |outcome| {
        let limits = [("leno", 1.2 * 1024.0 * 1024.0 * 1024.0 / 1e6), ("leno stored", 100.0)];
        let verdict = |(name, limit): (&str, f64)| {
            let value = outcome.case(None)?.median(name)?;
            Some(Verdict {
                text: format!("{name} <= {} bytes", number::grouped(limit as u64)),
                measured: number::grouped(value as u64),
                met: Some(value <= limit),
            })
        };
        limits.into_iter().filter_map(verdict).collect()
    },
};

trait ConcatAll {
    fn concat_all(self) -> Vec<Contender>;
}

impl<const N: usize> ConcatAll for [Vec<Contender>; N] {
    fn concat_all(self) -> Vec<Contender> {
        self.into_iter().flatten().collect()
    }
}

fn case(depth: usize, contenders: Vec<Contender>) -> Case {
    let load = Load::Filling { granule: 1 };
    Case { parameter: Some(depth as u64), load, isolated: false, rounds: None, contenders }
}

fn cases(contenders: impl Fn(usize) -> Vec<Contender>) -> Vec<Case> {
    [1, 2, 4, 8, 16, 32, 64].map(|depth| case(depth, contenders(depth))).into()
}

/// Base and slope over the frames, against a target for each.
fn judge_line(outcome: &Outcome, target: (f64, f64)) -> Vec<Verdict> {
    let line = |name: &str| straight_line(&outcome.curve(name)).map(|line| (name.to_owned(), line));
    let verdict = |(name, (base, slope)): (String, (f64, f64))| Verdict {
        text: format!("{name} by frames f <= {} + {} f", target.0, target.1),
        measured: format!("{} + {} f ns", number::measured(base), number::measured(slope)),
        met: (name == "leno").then_some(base <= target.0 && slope <= target.1),
    };
    ["leno", "state machine", "diapause"].into_iter().filter_map(line).map(verdict).collect()
}

/// What a frame of the walk holds, in every contender.
#[derive(Serialize, Deserialize, Clone)]
pub struct Frame {
    pub name: String,
    pub level: u32,
}

pub fn frame(level: usize) -> Frame {
    Frame { name: "node".into(), level: level as u32 }
}

fn stack(depth: usize) -> Vec<Frame> {
    (0..depth).map(frame).collect()
}

fn machine_store(depth: usize) -> Contender {
    let stack = stack(depth);
    Contender::timed("state machine", move |n| {
        for _ in 0..n {
            black_box(postcard::to_stdvec(black_box(&stack)).expect("it can be written"));
        }
    })
}

fn machine_restore(depth: usize) -> Contender {
    let bytes = postcard::to_stdvec(&stack(depth)).expect("it can be written");
    Contender::timed("state machine", move |n| {
        for _ in 0..n {
            black_box(
                postcard::from_bytes::<Vec<Frame>>(black_box(&bytes)).expect("it can be read"),
            );
        }
    })
}

/// A loop that suspends, as an enum.
enum Machine {
    Start,
    Waiting(u64),
}

impl Machine {
    #[inline(never)]
    fn resume(&mut self, input: u64) -> u64 {
        let sum = match self {
            Machine::Start => input,
            Machine::Waiting(sum) => *sum + input,
        };
        *self = Machine::Waiting(sum);
        sum
    }
}

fn machine() -> Contender {
    Contender::timed("state machine", |n| {
        let mut machine = Machine::Start;
        for i in 0..n {
            black_box(machine.resume(i));
        }
    })
}

/// A value on its way in or out.
type Mail = Rc<Cell<Option<u64>>>;

struct Swap(Mail, Option<u64>);

impl Future for Swap {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
        match self.1.take() {
            Some(value) => {
                self.0.set(Some(value));
                Poll::Pending
            }
            None => Poll::Ready(self.0.take().expect("an input")),
        }
    }
}

fn descend(mail: Mail, depth: usize) -> Pin<Box<dyn Future<Output = u64>>> {
    Box::pin(async move {
        if depth > 1 {
            return descend(mail, depth - 1).await + 1;
        }
        let mut sum = 0;
        loop {
            sum += Swap(mail.clone(), Some(sum)).await;
        }
    })
}

/// An async function is polled from the outermost on.
fn plain(depth: usize) -> Contender {
    Contender::measured("async", move |n| {
        let mail = Mail::default();
        let mut future = descend(mail.clone(), depth);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut cx).is_pending());
        let start = Instant::now();
        for i in 0..n {
            mail.set(Some(i));
            assert!(future.as_mut().poll(&mut cx).is_pending());
            black_box(mail.take());
        }
        Ok(Turn::ns(start.elapsed(), n))
    })
}
