//! Preemption at any instruction: x86_64 Linux only, and not under checking tools. Every test does
//! nothing where it is not supported, except the one that says so.
//!
//! `LENO_STRESS_SECONDS` makes the soak longer.
//!
//! Not in `suite`: it has an allocator of its own.

#[path = "suite/support/registers.rs"]
#[cfg(target_arch = "x86_64")]
mod registers;

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use leno_kernel::{LocalSystem, Options, yield_now};
use leno_process::{
    Attached, Back, Budget, Core, GuardedAllocator, Sink, Unsupported, can_preempt_anywhere,
    charge, no_preempt, preempt_anywhere,
};

#[global_allocator]
static ALLOCATOR: GuardedAllocator<std::alloc::System> = GuardedAllocator(std::alloc::System);

const SLICE: Budget = Budget::Time(Duration::from_micros(300));

fn is_supported() -> bool {
    let able = can_preempt_anywhere();
    let linux = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));
    let checked = cfg!(any(leno_baton, leno_asan, leno_tsan, miri));
    match able {
        Ok(()) => assert!(linux && !checked),
        Err(Unsupported::Platform) => assert!(!linux || checked),
        Err(why) => println!("not tested: {why}"),
    }
    able.is_ok()
}

/// Computes without safepoints until it is told to stop.
#[inline(never)]
fn spin(stop: &AtomicBool) -> u64 {
    let mut x = 88_172_645_463_325_252_u64;
    while !stop.load(Relaxed) {
        for _ in 0..1000 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
    }
    x
}

/// Runs `main`, which schedules, in a system that preempts.
fn run<T: 'static>(main: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::builder().preemptive().build();
    let result = system.spawn(main);
    system.run().unwrap();
    result.join().unwrap()
}

/// Gives everyone of a sink slices until all have ended; how many were preempted.
fn schedule(sink: &Sink, budget: Budget) -> u64 {
    let mut preempted = 0;
    while let Some(co) = sink.next() {
        let Attached { back, .. } = co.attach(budget).unwrap();
        preempted += u64::from(back == Back::Preempted);
    }
    preempted
}

#[test]
fn m23_a_loop_without_safepoints_is_preempted() {
    if !is_supported() {
        return;
    }
    let (gaps, preempted) = run(|| {
        let (sink, stop) = (Sink::new(), Arc::new(AtomicBool::new(false)));
        let own = stop.clone();
        // SAFETY: it computes only.
        let hog = move || unsafe { preempt_anywhere(|| spin(&own)) };
        let hog = sink.spawn(&Options::new().name("hog"), hog).unwrap();
        let neighbour = move || {
            for _ in 0..50 {
                yield_now();
            }
            stop.store(true, Relaxed);
            50
        };
        let gaps = sink.spawn(&Options::new().name("neighbour"), neighbour).unwrap();
        let preempted = schedule(&sink, SLICE);
        assert_ne!(hog.join().unwrap(), 0);
        (gaps.join().unwrap(), preempted)
    });
    assert_eq!(gaps, 50);
    assert!(preempted >= 50, "the neighbour had its turns between those of the hog: {preempted}");
}

#[test]
fn a_budget_of_units_or_none_changes_nothing() {
    if !is_supported() {
        return;
    }
    let preempted = run(|| {
        let sink = Sink::new();
        let body = || {
            // SAFETY: it computes only.
            unsafe {
                preempt_anywhere(|| (0..100_000_u64).fold(0_u64, |sum, n| black_box(sum ^ n)))
            }
        };
        drop(sink.spawn(&Options::new(), body));
        drop(sink.spawn(&Options::new(), body));
        let first = sink.next().unwrap().attach(Budget::Unlimited).unwrap();
        let second = sink.next().unwrap().attach(Budget::units(10)).unwrap();
        u64::from(first.is_preempted()) + u64::from(second.is_preempted())
    });
    assert_eq!(preempted, 0);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn no_register_is_lost() {
    if !is_supported() {
        return;
    }
    let expected: Vec<u64> = registers::ALL.iter().map(|(_, work)| work(200_000)).collect();
    let preempted = run(move || {
        let sink = Sink::new();
        let mut handles = Vec::new();
        for (n, (name, work)) in registers::ALL.iter().enumerate() {
            let expected = expected[n];
            let body = move || {
                // SAFETY: it computes only.
                unsafe {
                    preempt_anywhere(move || (0..8).all(|_| work(black_box(200_000)) == expected))
                }
            };
            handles.push((*name, sink.spawn(&Options::new(), body).unwrap()));
        }
        let preempted = schedule(&sink, Budget::time(Duration::from_micros(100)));
        for (name, handle) in handles {
            assert!(handle.join().unwrap(), "{name} was lost");
        }
        preempted
    });
    assert!(preempted > 0);
}

#[test]
fn safepoints_and_sections_work_in_a_region() {
    if !is_supported() {
        return;
    }
    let counted = run(|| {
        let sink = Sink::new();
        let mut handles = Vec::new();
        let in_section = Arc::new(AtomicBool::new(false));
        for _ in 0..3 {
            let in_section = in_section.clone();
            let body = move || {
                let work = || {
                    let mut clashes = 0;
                    for _ in 0..2_000 {
                        charge(1);
                        no_preempt(|| {
                            clashes += u64::from(in_section.swap(true, Relaxed));
                            // What is not allowed in a region is, here.
                            black_box(std::thread::current().id());
                            in_section.store(false, Relaxed);
                        });
                        black_box((0..500_u64).fold(0, |sum, n| black_box(sum ^ n)));
                    }
                    clashes
                };
                // SAFETY: it computes, counts, and uses a thread-local where it is not preempted.
                unsafe { preempt_anywhere(work) }
            };
            handles.push(sink.spawn(&Options::new(), body).unwrap());
        }
        let preempted = schedule(&sink, SLICE);
        let clashes: u64 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
        (clashes, preempted > 0)
    });
    assert_eq!(counted, (0, true));
}

#[test]
fn one_that_recurses_to_the_end_of_its_stack_is_left_alone_there() {
    if !is_supported() {
        return;
    }
    #[inline(never)]
    fn deep(depth: usize, laps: u64) -> u64 {
        let frame = black_box([depth as u64; 16]);
        if depth == 0 {
            return (0..laps).fold(frame[3], |sum, n| black_box(sum ^ n));
        }
        deep(depth - 1, laps) + frame[depth % 16]
    }
    let sums = run(|| {
        let sink = Sink::new();
        let mut handles = Vec::new();
        // Of 16 KiB, the smallest stack, less is left than an interruption takes, and in the first
        // one more.
        for depth in [1, 8, 16, 24] {
            let options = Options::new().stack_size(16 * 1024);
            let body = move || {
                // SAFETY: it computes only.
                unsafe { preempt_anywhere(|| deep(depth, 2_000_000)) }
            };
            handles.push((depth, sink.spawn(&options, body).unwrap()));
        }
        schedule(&sink, SLICE);
        handles.into_iter().map(|(depth, own)| (depth, own.join().unwrap())).collect::<Vec<_>>()
    });
    for (depth, sum) in sums {
        assert_eq!(sum, deep(depth, 2_000_000));
    }
}

#[test]
fn a_backtrace_shows_where_it_was_interrupted() {
    if !is_supported() {
        return;
    }
    let dump = run(|| {
        let (sink, stop) = (Sink::new(), Arc::new(AtomicBool::new(false)));
        let own = stop.clone();
        // SAFETY: it computes only.
        drop(sink.spawn(&Options::new(), move || unsafe { preempt_anywhere(|| spin(&own)) }));
        let co = sink.next().unwrap();
        assert!(co.attach(SLICE).unwrap().is_preempted());
        let dump = leno_kernel::dump_all(leno_kernel::dump::Depth::Frames).to_string();
        stop.store(true, Relaxed);
        schedule(&sink, Budget::Unlimited);
        dump
    });
    assert!(dump.contains("spin"), "{dump}");
}

/// A hasher without a thread-local in it.
#[derive(Clone)]
struct Plain(u64);

impl BuildHasher for Plain {
    type Hasher = Plain;
    fn build_hasher(&self) -> Plain {
        self.clone()
    }
}

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Allocates, formats, sorts, shares, panics; whatever is wrong it counts.
fn busy(seed: u64, stop: &AtomicBool) -> (u64, u64, u64) {
    let (mut rounds, mut wrong, mut panics) = (0, 0, 0);
    let mut x = seed * 77 + 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    while !stop.load(Relaxed) {
        let mut hashed: HashMap<u64, String, Plain> = HashMap::with_hasher(Plain(7));
        let mut sorted = BTreeMap::new();
        for _ in 0..200 {
            let key = next() % 97;
            let text = format!("{key}-{:x}", next());
            hashed.insert(key, text.clone());
            sorted.insert(key, text);
        }
        let mut all: Vec<(u64, String)> = hashed.into_iter().collect();
        all.sort();
        wrong += u64::from(!all.iter().map(|(key, text)| (key, text)).eq(sorted.iter()));
        let all = Arc::new(all);
        let clones: Vec<_> = (0..10).map(|_| all.clone()).collect();
        wrong += u64::from(Arc::strong_count(&all) != 11);
        drop(clones);
        if next().is_multiple_of(8) {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let kept = vec![1_u8; 300];
                // No hook: it would print.
                std::panic::resume_unwind(Box::new(black_box(kept.len())));
            }));
            let len = caught.unwrap_err().downcast::<usize>().map(|len| *len);
            wrong += u64::from(len.ok() != Some(300) || std::thread::panicking());
            panics += 1;
        }
        let roots: f64 = (0..64).map(|n| f64::from(n).sqrt()).sum();
        wrong += u64::from((black_box(roots) - 337.4).abs() > 4.0);
        rounds += 1;
    }
    (rounds, wrong, panics)
}

/// Two cores, eight coroutines each, preempted every 100 µs wherever they are.
#[test]
fn soak() {
    if !is_supported() {
        return;
    }
    let seconds = std::env::var("LENO_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let stop = Arc::new(AtomicBool::new(false));
    let preempted = Arc::new(AtomicU64::new(0));
    let cores: Vec<_> = ["one", "two"].into_iter().map(|name| Core::fork(name).unwrap()).collect();
    let mut mains = Vec::new();
    for (n, core) in cores.iter().enumerate() {
        let (stop, preempted) = (stop.clone(), preempted.clone());
        mains.push(core.attach(move || {
            let sink = Sink::new();
            let mut handles = Vec::new();
            for seed in 0..8 {
                let stop = stop.clone();
                let seed = (n as u64) * 8 + seed;
                // SAFETY: no thread-locals, no locks, no output; the allocator is guarded.
                let body = move || unsafe { preempt_anywhere(|| busy(seed, &stop)) };
                handles.push(sink.spawn(&Options::new(), body).unwrap());
            }
            preempted.fetch_add(schedule(&sink, Budget::time(Duration::from_micros(100))), Relaxed);
            handles.into_iter().map(|handle| handle.join().unwrap()).collect::<Vec<_>>()
        }));
    }
    std::thread::sleep(Duration::from_secs(seconds.unwrap_or(2)));
    stop.store(true, Relaxed);
    let all: Vec<_> = mains.into_iter().flat_map(|main| main.join().unwrap()).collect();
    let rounds: u64 = all.iter().map(|one| one.0).sum();
    let panics: u64 = all.iter().map(|one| one.2).sum();
    let preempted = preempted.load(Relaxed);
    println!("{preempted} preemptions, {rounds} rounds, {panics} panics");
    assert!(all.iter().all(|one| one.1 == 0), "{all:?}");
    assert!(preempted > 100 && rounds > 0, "{preempted} preemptions in {rounds} rounds");
}

#[test]
#[cfg(debug_assertions)]
fn an_operation_in_a_region_is_refused_in_debug_builds() {
    if !is_supported() {
        return;
    }
    let message = run(|| {
        // SAFETY: the operation panics before it does anything.
        let panic = catch_unwind(|| unsafe { preempt_anywhere(yield_now) }).unwrap_err();
        panic.downcast_ref::<&str>().map(|text| (*text).to_owned())
    });
    assert!(message.is_some_and(|text| text.contains("inside `preempt_anywhere`")));
}

#[test]
fn one_that_is_cancelled_in_a_region_ends_at_its_next_safepoint() {
    if !is_supported() {
        return;
    }
    struct Tells(Arc<AtomicBool>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let own = dropped.clone();
    run(move || {
        let sink = Sink::new();
        let busy = sink.spawn(&Options::new(), move || {
            let _tells = Tells(own);
            let work = || {
                let begun = Instant::now();
                loop {
                    black_box((0..10_000_u64).fold(0, |sum, n| black_box(sum ^ n)));
                    if begun.elapsed() > Duration::from_millis(2) {
                        charge(1);
                    }
                }
            };
            // SAFETY: it computes, and looks at the clock.
            unsafe { preempt_anywhere(work) }
        });
        let co = sink.next().unwrap();
        assert!(co.attach(SLICE).unwrap().is_preempted());
        let busy: leno_kernel::JoinHandle<()> = busy.unwrap();
        busy.cancel();
        assert!(busy.join().is_err());
    });
    assert!(dropped.load(Relaxed));
}
