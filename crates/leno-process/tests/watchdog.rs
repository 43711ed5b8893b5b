//! A watchdog names a coroutine that misses its slice. Not in `suite`: it watches all systems of the process.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use leno_kernel::{LocalSystem, Options};
use leno_process::{Budget, Missed, Sink, Watchdog, preemptible};

#[inline(never)]
fn forgets_its_safepoint(until: Instant, is_reported: &AtomicBool) -> u64 {
    let mut x = 1_u64;
    while Instant::now() < until && !is_reported.load(Relaxed) {
        for n in 0..100_000_u64 {
            x = black_box(x ^ n).rotate_left(3);
        }
    }
    x
}

#[preemptible]
fn has_safepoints(until: Instant, _: &AtomicBool) -> u64 {
    let mut x = 1_u64;
    while Instant::now() < until {
        for n in 0..100_000_u64 {
            x = black_box(x ^ n).rotate_left(3);
        }
    }
    x
}

type Body = fn(Instant, &AtomicBool) -> u64;

/// Runs `body` in slices of a millisecond under a watchdog, for so long at most; what was reported of it.
fn watch(name: &'static str, time: Duration, body: Body) -> Vec<Missed> {
    let (send, reports) = mpsc::channel();
    let is_reported = Arc::new(AtomicBool::new(false));
    let own = is_reported.clone();
    // It watches all systems, also that of the other test.
    let report = move |missed: Missed| {
        if missed.name.as_str() == Some(name) {
            send.send(missed).unwrap();
            own.store(true, Relaxed);
        }
    };
    let watchdog = Watchdog::start(Duration::from_millis(100), report).unwrap();
    let system = LocalSystem::builder().name("kitchen").preemptive().build();
    drop(system.spawn(move || {
        let sink = Sink::new();
        let body = move || body(Instant::now() + time, &is_reported);
        drop(sink.spawn(&Options::new().name(name), body));
        while let Some(co) = sink.next() {
            co.attach(Budget::time(Duration::from_millis(1))).unwrap();
        }
    }));
    system.run().unwrap();
    drop(watchdog);
    reports.iter().collect()
}

#[test]
fn m23_a_watchdog_names_coroutine_function_and_line() {
    let reports = watch("hog", Duration::from_secs(30), forgets_its_safepoint);
    assert_eq!(reports.len(), 1, "one slice, one report: {reports:?}");
    let missed = &reports[0];
    assert_eq!(missed.name.as_str(), Some("hog"));
    assert!(missed.late >= Duration::from_millis(100));
    assert_eq!(missed.spawned.map(|site| site.file()), Some(file!()));
    let text = missed.to_string();
    assert!(text.starts_with("coroutine 'hog' of system 'kitchen', spawned at "), "{text}");
    if leno_process::can_preempt_anywhere().is_ok() {
        let place = missed.place.as_ref().unwrap();
        assert!(place.function.contains("forgets_its_safepoint"), "{text}");
        assert!(place.file.as_ref().is_some_and(|file| file.ends_with("watchdog.rs")), "{text}");
        assert!(place.line.is_some_and(|line| (13..23).contains(&line)), "{text}");
    }
}

#[test]
fn who_has_safepoints_is_not_reported() {
    // Only if the machine stood still for a tenth of a second, which it does not do each time.
    let is_reported = || !watch("cook", Duration::from_millis(300), has_safepoints).is_empty();
    assert!(!(0..10).all(|_| is_reported()));
}
