//! leno in `attach`, `preemption` and `hog-gap`.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use leno::kernel::{LocalSystem, Options, yield_now};
use leno::process::{
    Bound, BoundBack, Budget, Sink, can_preempt_anywhere, preempt_anywhere, preemptible, safepoint,
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
                co.attach(budget).map_err(Failure::failed)?;
                let start = Instant::now();
                for _ in 0..n {
                    let co = sink.try_next().ok_or_else(|| Failure::failed("nobody is ready"))?;
                    co.attach(budget).map_err(Failure::failed)?;
                }
                let elapsed = start.elapsed();
                while let Some(co) = sink.next() {
                    co.attach(Budget::Unlimited).map_err(Failure::failed)?;
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

/// A clock that asks nobody: in a region, code outside of the program is not preempted.
#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every machine of this kind has it.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    }
}

/// What one that computes sees of being preempted: its clock jumps.
#[derive(Default)]
struct Holes {
    /// How often it was preempted; written by its scheduler.
    preemptions: AtomicU64,
    /// The ticks of each.
    seen: Vec<AtomicU64>,
}

impl Holes {
    fn of(n: u64) -> Arc<Holes> {
        Arc::new(Holes { seen: (0..n).map(|_| AtomicU64::new(0)).collect(), ..Holes::default() })
    }

    /// Computes until it was preempted so often.
    ///
    /// `last` is a time after which it was seen that nobody had preempted it yet. So whatever is noticed
    /// next has happened since.
    #[inline(always)]
    fn look(&self, lap: impl Fn()) {
        let mut last = ticks();
        for (n, hole) in self.seen.iter().enumerate() {
            loop {
                lap();
                let now = ticks();
                if self.preemptions.load(Relaxed) != n as u64 {
                    break;
                }
                last = now;
            }
            let now = ticks();
            hole.store(now - last, Relaxed);
            last = now;
        }
    }

    /// The hole in the middle of all, in nanoseconds, if so many ticks took this long.
    fn median(&self, all: u64, elapsed: Duration) -> Result {
        let mut holes: Vec<u64> = self.seen.iter().map(|hole| hole.load(Relaxed)).collect();
        holes.sort_unstable();
        let hole = holes.get(holes.len() / 2).ok_or_else(|| Failure::failed("no preemptions"))?;
        Ok(Turn::of(*hole as f64 * elapsed.as_nanos() as f64 / all.max(1) as f64))
    }
}

/// How long one is away that is preempted and attached again at once, by its own clock.
pub fn preemption() -> Vec<Contender> {
    let with = |name, budget: Budget, work: fn(&Holes)| {
        Contender::measured(name, move |n| {
            let holes = Holes::of(n);
            run(move || {
                let (sink, own) = (Sink::new(), holes.clone());
                drop(sink.spawn(&Options::new(), move || work(&own)).map_err(Failure::failed)?);
                let (start, first) = (Instant::now(), ticks());
                while let Some(co) = sink.next() {
                    let attached = co.attach(budget).map_err(Failure::failed)?;
                    if attached.is_preempted() {
                        holes.preemptions.fetch_add(1, Relaxed);
                    }
                }
                holes.median(ticks() - first, start.elapsed())
            })
        })
    };
    let at_safepoints = |holes: &Holes| holes.look(|| safepoint!());
    let mut contenders = vec![
        with("leno", Budget::units(100), at_safepoints),
        with("leno time", Budget::time(Duration::from_micros(50)), at_safepoints),
    ];
    if can_preempt_anywhere().is_ok() {
        let anywhere = |holes: &Holes| {
            // SAFETY: it computes only.
            unsafe { preempt_anywhere(|| holes.look(|| ())) }
        };
        let often = Budget::time(Duration::from_micros(200));
        contenders.push(with("leno anywhere", often, anywhere));
        contenders.push(preempted_thread());
    }
    contenders
}

/// The same with one that is bound to a thread.
fn preempted_thread() -> Contender {
    Contender::measured("leno bound", |n| {
        // A thread that is preempted gets its processor back when the machine pleases.
        let holes = Holes::of(n.min(25));
        let own = holes.clone();
        let body = move || own.look(|| ());
        let mut bound = Bound::spawn("bound", body).map_err(Failure::failed)?;
        let (start, first) = (Instant::now(), ticks());
        while let BoundBack::Preempted =
            bound.attach(Budget::time(QUANTUM)).map_err(Failure::failed)?
        {
            holes.preemptions.fetch_add(1, Relaxed);
        }
        let turn = holes.median(ticks() - first, start.elapsed());
        bound.join().map_err(|_| Failure::failed("it panicked"))?;
        turn
    })
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
                let own_stop = stop.clone();
                let body = move || match kind {
                    Hog::Safepoints => hog_in_slices(&own_stop),
                    // SAFETY: it computes only.
                    Hog::Anywhere => unsafe { preempt_anywhere(|| hog(&own_stop)) },
                    Hog::Neither => {
                        while !own_stop.load(Relaxed) {
                            let begun = Instant::now();
                            while begun.elapsed() < 30 * QUANTUM {
                                black_box(compute(1_000));
                            }
                            yield_now();
                        }
                    }
                };
                drop(sink.spawn(&Options::new(), body).map_err(Failure::failed)?);
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
                    co.attach(Budget::time(QUANTUM)).map_err(Failure::failed)?;
                }
                Ok(Turn::of(0.0))
            })?;
            let gaps = std::mem::take(&mut *gaps.lock().expect("nobody panics"));
            percentile(gaps, which)
        })
    };
    let mut contenders =
        vec![with("leno", Hog::Safepoints, 1), with("leno neither", Hog::Neither, 20)];
    if can_preempt_anywhere().is_ok() {
        contenders.insert(1, with("leno anywhere", Hog::Anywhere, 1));
    }
    contenders
}
