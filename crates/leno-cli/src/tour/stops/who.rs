//! Lists and backtraces.

use leno::{Builder, Step, Suspender, list};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "who",
    shows: "Who is alive on this thread, where each was made, what it is doing,\n\
            and how a suspended one came to where it is.",
    run: who,
    read: "leno::list, leno::trace",
};

#[inline(never)]
fn wait_for_pressure(co: &Suspender<u32, ()>) {
    while co.suspend(()) < 3 {}
}

/// The frames of a backtrace that are in this file, innermost first.
fn frames_here(backtrace: &str) -> Vec<String> {
    let lines: Vec<&str> = backtrace.lines().map(str::trim).collect();
    let frame = |pair: &[&str]| {
        let (_, name) = pair[0].split_once(": ")?;
        let (_, line) = pair[1].strip_prefix("at ")?.split_once("stops/who.rs:")?;
        Some(format!("{name} (stops/who.rs:{line})"))
    };
    lines.windows(2).filter_map(frame).collect()
}

fn who() -> Result<String, String> {
    let pump = Builder::new().name("pump").coroutine(|co, _bar| {
        wait_for_pressure(co);
        "running"
    });
    let pump = pump.map_err(|error| error.to_string())?;
    let valve = Builder::new().name("valve").coroutine(|_: &Suspender<(), ()>, ()| ());
    let _valve = valve.map_err(|error| error.to_string())?;
    pump.resume(0);
    let all = list::coroutines();
    all.iter().for_each(|info| say!("{info}"));
    expect(&all.len(), &2)?;
    let backtrace = all[0].backtrace().ok_or("a suspended coroutine has no backtrace")?.to_string();
    // Two frames: the function that suspended and the body that called it. Below them is this one.
    say!("pump is suspended in");
    frames_here(&backtrace).iter().take(2).for_each(|frame| say!("    {frame}"));
    expect(&backtrace.contains("wait_for_pressure"), &true)?;
    expect(&pump.resume(3), &Step::Finished("running"))?;
    Ok("two coroutines listed, one with a backtrace".to_owned())
}
