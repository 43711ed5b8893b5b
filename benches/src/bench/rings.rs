//! Rings of the peers: `k` coroutines, each of which does one step and passes control on, round
//! after round. Used by `hop` (an empty step, many sizes) and `components` (a step of a machine
//! control, one size).
//!
//! Peers without a symmetric switch go through a parent that resumes them in order. Peers with a
//! scheduler of their own are measured by their first member: the time between two of its own
//! turns is the time of `k` hops.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use generator::Gn;

use crate::contender::{Contender, Failure, Turn};
use crate::peers;
use crate::subject;

/// Stack bytes of every ring member that has a stack of its own.
pub const STACK: usize = 16 * 1024;

/// Rounds before the clock starts: the members' first turns touch their stacks.
pub const WARM_UP: u64 = 1;

/// All rings of `k` members; one operation is one hop.
pub fn all<S>(k: u64, step: S) -> Vec<Contender>
where
    S: Fn(u64) -> u64 + Copy + Send + 'static,
{
    let mut all = subject::rings(k, step);
    all.extend([corosensei(k, step), generator(k, step), may(k, step), tokio(k, step)]);
    all
}

/// Times the passes of a parent through its ring; `pass` is one of them.
fn driven(k: u64, hops: u64, mut pass: impl FnMut()) -> Turn {
    (0..WARM_UP).for_each(|_| pass());
    let start = Instant::now();
    (0..hops / k).for_each(|_| pass());
    Turn::ns(start.elapsed(), hops)
}

fn corosensei<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + 'static,
{
    Contender::measured("corosensei", move |hops| {
        let mut ring = Vec::with_capacity(k as usize);
        for made in 0..k as usize {
            let stack = DefaultStack::new(STACK).map_err(|e| Failure::stopped_at(made, e))?;
            ring.push(Coroutine::<u64, u64, ()>::with_stack(stack, move |co, mut v| {
                loop {
                    v = co.suspend(step(v));
                }
            }));
        }
        let mut v = 0;
        let turn = driven(k, hops, || {
            for member in &mut ring {
                match member.resume(v) {
                    CoroutineResult::Yield(out) => v = out,
                    CoroutineResult::Return(()) => unreachable!("members never finish"),
                }
            }
        });
        black_box(v);
        Ok(turn)
    })
}

fn generator<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + Send + 'static,
{
    Contender::measured("generator", move |hops| {
        let words = STACK / size_of::<usize>();
        let mut ring: Vec<_> = (0..k)
            .map(|_| {
                Gn::<u64>::new_scoped_opt(words, move |mut co| {
                    let mut v = co.get_yield().unwrap_or(0);
                    while v != u64::MAX {
                        v = co.yield_(step(v)).unwrap_or(u64::MAX);
                    }
                    v
                })
            })
            .collect();
        let mut v = 0;
        let turn = driven(k, hops, || {
            for member in &mut ring {
                v = member.send(v);
            }
        });
        black_box(v);
        Ok(turn)
    })
}

/// What the first member of a scheduled ring does: its rounds, timed.
fn first_member(rounds: u64, mut pass: impl FnMut()) -> Duration {
    (0..WARM_UP).for_each(|_| pass());
    let start = Instant::now();
    (0..rounds).for_each(|_| pass());
    start.elapsed()
}

fn may<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + Send + 'static,
{
    Contender::measured("may", move |hops| {
        peers::may_on_one_worker();
        let rounds = hops / k;
        let took = Arc::new(AtomicU64::new(0));
        // Members wait for the last of them to be made: they start on another thread.
        let complete = Arc::new(AtomicBool::new(false));
        let member = |index: u64| {
            let (took, complete) = (took.clone(), complete.clone());
            may::go!(move || {
                while !complete.load(Ordering::Acquire) {
                    may::coroutine::yield_now();
                }
                let mut v = index;
                let mut pass = || {
                    v = step(v);
                    may::coroutine::yield_now();
                };
                if index == 0 {
                    let elapsed = first_member(rounds, pass);
                    took.store(elapsed.as_nanos() as u64, Ordering::Relaxed);
                } else {
                    (0..WARM_UP + rounds).for_each(|_| pass());
                }
                black_box(v);
            })
        };
        let ring: Vec<_> = (0..k).map(member).collect();
        complete.store(true, Ordering::Release);
        for member in ring {
            member.join().map_err(|_| Failure::failed("a member panicked"))?;
        }
        Ok(Turn::ns(Duration::from_nanos(took.load(Ordering::Relaxed)), hops))
    })
}

fn tokio<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + Send + 'static,
{
    Contender::measured("tokio", move |hops| {
        let rounds = hops / k;
        let runtime = peers::tokio_on_this_thread()?;
        let member = |index: u64| {
            runtime.spawn(async move {
                let mut v = index;
                let mut start = Instant::now();
                for round in 0..WARM_UP + rounds {
                    if round == WARM_UP {
                        start = Instant::now();
                    }
                    v = step(v);
                    tokio::task::yield_now().await;
                }
                black_box(v);
                start.elapsed()
            })
        };
        let ring: Vec<_> = (0..k).map(member).collect();
        let took = runtime.block_on(async {
            let mut ring = ring.into_iter();
            let first = ring.next().expect("a ring has members").await;
            for member in ring {
                member.await.map_err(Failure::failed)?;
            }
            first.map_err(Failure::failed)
        });
        Ok(Turn::ns(took?, hops))
    })
}
