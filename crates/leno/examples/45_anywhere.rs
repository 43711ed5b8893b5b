//! Code that has no safepoints and can get none, such as a dependency's. In a region of its own, by promise,
//! it is preempted at any instruction; bound to a thread of its own, without one. A watchdog names code that
//! is neither. Where interruptions are not supported, all runs cooperatively.

use std::hint::black_box;
use std::time::{Duration, Instant};

use leno::kernel::{LocalSystem, Options};
use leno::process::{
    Bound, BoundBack, Budget, Sink, Watchdog, can_preempt_anywhere, preempt_anywhere,
};

const QUANTUM: Budget = Budget::Time(Duration::from_millis(1));

/// Somebody else's loop: some 30 milliseconds.
fn foreign() -> u64 {
    let (begun, mut rounds) = (Instant::now(), 0_u64);
    while begun.elapsed() < Duration::from_millis(30) {
        rounds = black_box(rounds + 1);
    }
    rounds
}

/// Gives two their slices in turn; whether one of them had several.
fn schedule(body: fn() -> u64) -> bool {
    let sink = Sink::new();
    for name in ["first", "second"] {
        drop(sink.spawn(&Options::new().name(name), body));
    }
    let mut preempted = 0;
    while let Some(co) = sink.next() {
        preempted += u32::from(co.attach(QUANTUM).expect("it is ready").is_preempted());
    }
    preempted > 0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is_supported = can_preempt_anywhere().is_ok();
    let (send, reports) = std::sync::mpsc::channel();
    let report = move |missed: leno::process::Missed| {
        let place = missed.place.map(|place| place.function);
        let _ = send.send(place.is_none_or(|function| function.contains("foreign")));
    };
    let watchdog = Watchdog::start(Duration::from_millis(10), report)?;

    let system = LocalSystem::builder().preemptive().build();
    let alone = system.spawn(|| schedule(foreign));
    system.run()?;
    drop(watchdog);
    println!("without safepoints, preempted: {}", alone.join()?);
    println!("the watchdog named the loop: {}", reports.iter().all(|is_named| is_named));

    let system = LocalSystem::builder().preemptive().build();
    // SAFETY: the loop uses no thread-locals, no locks, no output and no operations of leno.
    let body = || unsafe { preempt_anywhere(foreign) };
    let anywhere = system.spawn(move || is_supported && schedule(body));
    system.run()?;
    println!("in a region, preempted: {}", anywhere.join()? == is_supported);

    let mut slices = 1;
    if let Ok(mut bound) = Bound::spawn("bound", foreign) {
        while bound.attach(QUANTUM)? != BoundBack::Ended {
            slices += 1;
        }
        assert!(bound.join().is_ok_and(|rounds| rounds > 0));
    }
    println!("bound to a thread, preempted: {}", (slices > 1) == is_supported);
    Ok(())
}
