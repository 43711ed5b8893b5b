//! Coroutines that are bound to threads of their own. Where that is not supported, only the error is
//! tested. Not in `suite`: the stress leg builds it with optimisations.

use std::cell::Cell;
use std::hint::black_box;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use leno_explore::Explorer;
use leno_process::{Bound, BoundBack, BoundError, Budget};

const SLICE: Budget = Budget::Time(Duration::from_micros(500));

fn spawn<T: Send + 'static>(
    name: &str,
    f: impl FnOnce() -> T + Send + 'static,
) -> Option<Bound<T>> {
    match Bound::spawn(name, f) {
        Ok(bound) => Some(bound),
        Err(BoundError::Unsupported(why)) => {
            println!("not tested: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn a_tight_loop_is_preempted_and_runs_only_while_it_is_attached() {
    let (laps, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (own, own_stop) = (laps.clone(), stop.clone());
    let body = move || {
        while !own_stop.load(Relaxed) {
            own.store(own.load(Relaxed) + 1, Relaxed);
        }
        "ended"
    };
    let Some(mut bound) = spawn("loop", body) else { return };
    assert_eq!(laps.load(Relaxed), 0, "it begins when it is attached");
    for _ in 0..20 {
        assert_eq!(bound.attach(SLICE).unwrap(), BoundBack::Preempted);
        let before = laps.load(Relaxed);
        std::thread::sleep(Duration::from_micros(200));
        assert_eq!(laps.load(Relaxed), before, "it does not run while it is not attached");
    }
    assert!(laps.load(Relaxed) > 0 && bound.is_active());
    stop.store(true, Relaxed);
    assert_eq!(bound.join().unwrap(), "ended");
}

#[test]
fn it_suspends_by_itself_and_ends() {
    let body = || {
        for _ in 0..3 {
            assert!(Bound::suspend());
        }
        7
    };
    let Some(mut bound) = spawn("gentle", body) else { return };
    for _ in 0..3 {
        assert_eq!(bound.attach(Budget::Unlimited).unwrap(), BoundBack::Suspended);
    }
    assert_eq!(bound.attach(Budget::Unlimited).unwrap(), BoundBack::Ended);
    assert_eq!(bound.attach(SLICE).unwrap(), BoundBack::Ended);
    assert_eq!(bound.join().unwrap(), 7);
    assert!(!Bound::suspend(), "no bound coroutine calls this");
}

#[test]
fn a_panic_reaches_whoever_joins() {
    let Some(bound) = spawn("bad", || std::panic::resume_unwind(Box::new("bad"))) else { return };
    let _: &Bound<()> = &bound;
    assert_eq!(bound.join().unwrap_err().downcast_ref::<&str>(), Some(&"bad"));
}

#[test]
fn units_are_not_counted_and_an_explored_program_has_no_threads() {
    let Some(mut bound) = spawn("counted", || ()) else { return };
    let refused = bound.attach(Budget::units(10)).unwrap_err();
    assert!(refused.to_string().contains("'counted' cannot be attached for units"), "{refused}");
    bound.join().unwrap();
    Explorer::new().runs(1).check(|| {
        let refused = Bound::spawn("explored", || ()).unwrap_err();
        assert!(matches!(refused, BoundError::Explored(_)));
    });
}

#[test]
fn one_that_is_dropped_runs_on_to_its_end() {
    let ended = Arc::new(AtomicBool::new(false));
    let own = ended.clone();
    let body = move || {
        Bound::suspend();
        Bound::suspend();
        own.store(true, Relaxed);
    };
    let Some(mut bound) = spawn("dropped", body) else { return };
    assert_eq!(bound.attach(Budget::Unlimited).unwrap(), BoundBack::Suspended);
    drop(bound);
    while !ended.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Thread-locals, allocation, panics, and files: what nothing else may be preempted in.
#[test]
fn arbitrary_code_survives() {
    thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });
    let seconds = std::env::var("LENO_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let stop = Arc::new(AtomicBool::new(false));
    let body = |seed: u64, stop: Arc<AtomicBool>| {
        move || {
            let (mut x, mut rounds, mut kept) = (seed, 0_u64, Vec::<Vec<u8>>::new());
            while !stop.load(Relaxed) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                kept.push(vec![x as u8; (x % 500) as usize]);
                if kept.len() > 100 {
                    kept.swap_remove(x as usize % 100);
                }
                COUNT.set(COUNT.get() + 1);
                if x.is_multiple_of(64) {
                    let caught = catch_unwind(|| std::panic::resume_unwind(Box::new(3)));
                    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&3));
                    assert!(std::fs::metadata("/").is_ok());
                }
                black_box(&kept);
                rounds += 1;
            }
            assert_eq!(COUNT.get(), rounds);
            rounds
        }
    };
    let mut all = Vec::new();
    for seed in 1..=4 {
        let Some(bound) = spawn("busy", body(seed, stop.clone())) else { return };
        all.push(bound);
    }
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(1));
    let mut preempted = 0;
    while Instant::now() < until {
        for bound in &mut all {
            let back = bound.attach(Budget::time(Duration::from_micros(200))).unwrap();
            assert_eq!(back, BoundBack::Preempted);
            preempted += 1;
        }
    }
    stop.store(true, Relaxed);
    let rounds: u64 = all.into_iter().map(|bound| bound.join().unwrap()).sum();
    println!("{preempted} preemptions, {rounds} rounds");
    assert!(preempted > 10 && rounds > 0);
}

#[test]
fn one_is_attached_for_all_time_there_is() {
    let Some(mut bound) = spawn("patient", || 7) else { return };
    assert_eq!(bound.attach(Budget::time(Duration::MAX)).unwrap(), BoundBack::Ended);
    assert_eq!(bound.join().unwrap(), 7);
}
