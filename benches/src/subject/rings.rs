//! leno in `hop` and `components`: its ring, where control passes from member to member, and
//! coroutines on shared stacks, which a parent resumes in order.

use std::hint::black_box;

use leno::{Builder, Step, Suspender, ring, shared};

use crate::bench::hop::SHARED_STACKS;
use crate::bench::rings::{STACK, driven, finished};
use crate::contender::{Contender, Failure};
use crate::lap::Lap;

pub fn rings<S>(k: u64, step: S) -> Vec<Contender>
where
    S: Fn(u64) -> u64 + Copy + Send + 'static,
{
    vec![symmetric(k, step), on_shared_stacks(k, step)]
}

/// The context that enters the ring is a member itself: it makes the others, then hops with them.
fn symmetric<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + 'static,
{
    Contender::measured("leno", move |hops| {
        let lap = Lap::of(k);
        let member = |index: u64| {
            let mut v = index;
            lap.run(hops / k, || v = step(v), ring::yield_now);
            black_box(v);
        };
        ring::scope(|ring| {
            for index in 1..k {
                let builder = Builder::new().stack_size(STACK);
                let made = ring.spawn_with(builder, move || member(index));
                made.map_err(|e| Failure::stopped_at(index as usize, e))?;
            }
            member(0);
            ring::yield_now(); // All others return: none is left to be unwound.
            Ok(())
        })?;
        finished(&lap, hops)
    })
}

fn on_shared_stacks<S>(k: u64, step: S) -> Contender
where
    S: Fn(u64) -> u64 + Copy + 'static,
{
    Contender::measured("leno shared", move |hops| {
        let homes = shared::Stacks::new(SHARED_STACKS as usize);
        let mut all = Vec::with_capacity(k as usize);
        for made in 0..k as usize {
            let body = move |co: &Suspender<u64, u64>, mut v: u64| -> () {
                loop {
                    v = co.suspend(step(v));
                }
            };
            // SAFETY: the body lends nothing from its stack to anybody.
            let co = unsafe { homes.coroutine(body) };
            all.push(co.map_err(|e| Failure::stopped_at(made, e))?);
        }
        let mut v = 0;
        let turn = driven(k, hops, || {
            for co in &all {
                match co.resume(v) {
                    Step::Suspended(out) => v = out,
                    Step::Finished(()) => unreachable!("it never finishes"),
                }
            }
        });
        black_box(v);
        Ok(turn)
    })
}
