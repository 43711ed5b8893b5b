//! leno in `attach`, `preemption` and `hog-gap`.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use leno::kernel::{LocalSystem, Options, yield_now};
use leno::process::{
    Bound, Budget, Sink, attach_for, can_preempt_anywhere, preempt_anywhere, preemptible,
};

use crate::bench::preempt::percentile;
use crate::contender::{Contender, Failure, Result, Turn};

const QUANTUM: Duration = Duration::from_millis(1);

/// Runs `main`, which schedules, in a system that preempts.
fn run(main: impl FnOnce() -> Result + 'static) -> Result {
    let system = LocalSystem::builder().preemptive().build();
    let turn = system.spawn(main);
    system.run().map_err(Failure::failed)?;
    turn.join().map_err(Failure::failed)?
}

pub fn attach() -> Vec<Contender> {
    let with = |name, budget| {
        Contender::measured(name, move |n| {
            run(move || {
                let sink = Sink::new();
                let body = move || (0..=n).for_each(|_| yield_now());
                drop(sink.spawn(&Options::new(), body).map_err(Failure::failed)?);
                let co = sink.next().ok_or_else(|| Failure::failed("nobody is ready"))?;
                attach_for(co, budget).map_err(Failure::failed)?;
                let start = Instant::now();
                for _ in 0..n {
                    let co = sink.try_next().ok_or_else(|| Failure::failed("nobody is ready"))?;
                    attach_for(co, budget).map_err(Failure::failed)?;
                }
                let elapsed = start.elapsed();
                while let Some(co) = sink.next() {
                    attach_for(co, Budget::Unlimited).map_err(Failure::failed)?;
                }
                Ok(Turn::ns(elapsed, n))
            })
        })
    };
    vec![
        with("leno", Budget::units(100)),
        with("leno unlimited", Budget::Unlimited),
        with("leno time", Budget::time(QUANTUM)),
        bound(),
    ]
}

/// The same with one that is bound to a thread.
fn bound() -> Contender {
    Contender::measured("leno bound", |n| {
        let n = n.min(20_000);
        let body = move || {
            for _ in 0..=n {
                Bound::suspend();
            }
        };
        let mut bound = Bound::spawn("bound", body).map_err(Failure::failed)?;
        bound.attach(Budget::Unlimited).map_err(Failure::failed)?;
        let start = Instant::now();
        for _ in 0..n {
            bound.attach(Budget::Unlimited).map_err(Failure::failed)?;
        }
        let elapsed = start.elapsed();
        bound.join().map_err(|_| Failure::failed("it panicked"))?;
        Ok(Turn::ns(elapsed, n))
    })
}

/// Some 50 microseconds of work.
const CHUNK: u64 = 20_000;

#[inline(always)]
fn step(x: u64) -> u64 {
    let x = x ^ x << 13;
    let x = x ^ x >> 7;
    x ^ x << 17
}

#[inline(never)]
fn compute(laps: u64) -> u64 {
    (0..laps).fold(88_172_645_463_325_252, |x, _| step(black_box(x)))
}

#[preemptible]
#[inline(never)]
fn compute_in_slices(laps: u64) -> u64 {
    let mut x = 88_172_645_463_325_252;
    for _ in 0..laps {
        x = step(black_box(x));
    }
    x
}

/// Computes `n` chunks in slices, and without; the difference for each preemption.
pub fn preemption() -> Vec<Contender> {
    let with = |name, budget: Budget, work: fn(u64) -> u64| {
        Contender::measured(name, move |n| {
            let once = move |budget| -> std::result::Result<(Duration, u64), Failure> {
                let spent = Arc::new(AtomicU64::new(0));
                let own = spent.clone();
                let turn = run(move || {
                    let sink = Sink::new();
                    let body = move || black_box(work(n * CHUNK));
                    drop(sink.spawn(&Options::new(), body).map_err(Failure::failed)?);
                    let (mut preempted, start) = (0_u64, Instant::now());
                    while let Some(co) = sink.next() {
                        let attached = attach_for(co, budget).map_err(Failure::failed)?;
                        preempted += u64::from(attached.is_preempted());
                    }
                    own.store(start.elapsed().as_nanos() as u64, Relaxed);
                    Ok(Turn::of(preempted as f64))
                })?;
                Ok((Duration::from_nanos(spent.load(Relaxed)), turn.value as u64))
            };
            let (without, _) = once(Budget::Unlimited)?;
            let (with, preempted) = once(budget)?;
            if preempted == 0 {
                return Err(Failure::failed("it was not preempted"));
            }
            let note = format!("{preempted} preemptions");
            Ok(Turn::ns(with.saturating_sub(without), preempted).with_note(note))
        })
    };
    let mut contenders = vec![with("leno", Budget::units(1_000), compute_in_slices)];
    if can_preempt_anywhere().is_ok() {
        let anywhere = |laps| {
            // SAFETY: it computes only.
            unsafe { preempt_anywhere(move || compute(laps)) }
        };
        let often = Budget::time(Duration::from_micros(200));
        contenders.push(with("leno anywhere", often, anywhere));
    }
    contenders
}

/// What computes until it is told to stop, in these ways.
#[derive(Clone, Copy)]
enum Hog {
    Safepoints,
    Anywhere,
    /// It gives way after 30 ms, so that the bench comes to an end.
    Neither,
}

#[preemptible]
fn hog_in_slices(stop: &AtomicBool) {
    let mut x = 1;
    while !stop.load(Relaxed) {
        x = step(black_box(x));
    }
}

fn hog(stop: &AtomicBool) {
    let mut x = 1;
    while !stop.load(Relaxed) {
        x = step(black_box(x));
    }
}

pub fn gap(which: u64) -> Vec<Contender> {
    let with = |name, kind: Hog, share: u64| {
        Contender::measured(name, move |n| {
            let n = (n / share).max(10);
            let gaps = Arc::new(std::sync::Mutex::new(Vec::new()));
            let own = gaps.clone();
            run(move || {
                let (sink, stop) = (Sink::new(), Arc::new(AtomicBool::new(false)));
                for _ in 0..2 {
                    let stop = stop.clone();
                    let body = move || match kind {
                        Hog::Safepoints => hog_in_slices(&stop),
                        // SAFETY: it computes only.
                        Hog::Anywhere => unsafe { preempt_anywhere(|| hog(&stop)) },
                        Hog::Neither => {
                            while !stop.load(Relaxed) {
                                let begun = Instant::now();
                                while begun.elapsed() < 30 * QUANTUM {
                                    black_box(compute(1_000));
                                }
                                yield_now();
                            }
                        }
                    };
                    drop(sink.spawn(&Options::new(), body).map_err(Failure::failed)?);
                }
                let neighbour = move || {
                    let mut last = Instant::now();
                    for _ in 0..n {
                        yield_now();
                        own.lock().expect("nobody panics").push(last.elapsed().as_nanos() as u64);
                        last = Instant::now();
                    }
                    stop.store(true, Relaxed);
                };
                drop(sink.spawn(&Options::new(), neighbour).map_err(Failure::failed)?);
                while let Some(co) = sink.next() {
                    attach_for(co, Budget::time(QUANTUM)).map_err(Failure::failed)?;
                }
                Ok(Turn::of(0.0))
            })?;
            let gaps = std::mem::take(&mut *gaps.lock().expect("nobody panics"));
            // Two hogs have had their turns between two of the neighbour.
            percentile(gaps.into_iter().map(|gap| gap / 2).collect(), which)
        })
    };
    let mut contenders =
        vec![with("leno", Hog::Safepoints, 1), with("leno neither", Hog::Neither, 20)];
    if can_preempt_anywhere().is_ok() {
        contenders.insert(1, with("leno anywhere", Hog::Anywhere, 1));
    }
    contenders
}
