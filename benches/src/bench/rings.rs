//! Rings of the peers: `k` coroutines, each of which does one step and passes control on, round
//! after round. Used by `hop` (an empty step, many sizes) and `components` (a step of a machine
//! control, one size).
//!
//! Peers without a symmetric switch go through a parent that resumes them in order. Peers with a
//! scheduler of their own are timed by a [`Lap`].

use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Instant;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use generator::Gn;

use crate::contender::{Contender, Failure, Result, Turn};
use crate::lap::{Lap, warm_up};
use crate::peers;
use crate::subject;

/// Stack bytes of every ring member that has a stack of its own.
pub const STACK: usize = 16 * 1024;

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
pub fn driven(k: u64, hops: u64, mut pass: impl FnMut()) -> Turn {
    (0..warm_up(hops / k)).for_each(|_| pass());
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

/// The ring is made from inside: while the one worker runs the maker, no member starts. Members
/// that hop while others are made would keep the worker from ever taking those on.
fn may<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + Send + 'static,
{
    Contender::measured("may", move |hops| {
        peers::may_on_one_worker();
        let lap = Arc::new(Lap::of(k));
        let shared = lap.clone();
        let maker = may::go!(move || {
            let member = |index: u64| {
                let lap = shared.clone();
                may::go!(move || {
                    let mut v = index;
                    lap.run(hops / k, || v = step(v), may::coroutine::yield_now);
                    black_box(v);
                })
            };
            let ring: Vec<_> = (0..k).map(member).collect();
            ring.into_iter().try_for_each(|member| member.join())
        });
        maker.join().flatten().unwrap_or_else(|panic| resume_unwind(panic));
        finished(&lap, hops)
    })
}

fn tokio<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + Send + 'static,
{
    Contender::measured("tokio", move |hops| {
        let lap = Arc::new(Lap::of(k));
        let member = |index: u64| {
            let lap = lap.clone();
            tokio::spawn(async move {
                let mut v = index;
                for _ in 0..warm_up(hops / k) {
                    tokio::task::yield_now().await;
                }
                lap.arrive();
                while !lap.begun() {
                    tokio::task::yield_now().await;
                }
                for _ in 0..hops / k {
                    v = step(v);
                    tokio::task::yield_now().await;
                }
                lap.finish();
                while !lap.over() {
                    tokio::task::yield_now().await;
                }
                black_box(v);
            })
        };
        peers::tokio_on_this_thread()?.block_on(async {
            let ring: Vec<_> = (0..k).map(member).collect();
            for member in ring {
                member.await.map_err(Failure::failed)?;
            }
            Ok(())
        })?;
        finished(&lap, hops)
    })
}

/// The result of a ring whose members have all ended.
pub fn finished(lap: &Lap, hops: u64) -> Result {
    let took = lap.took().ok_or_else(|| Failure::failed("a member did not make its rounds"))?;
    Ok(Turn::ns(took, hops))
}
