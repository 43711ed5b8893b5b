//! What is built from flexible coroutines, under every schedule.

mod chords;
mod from_monitors;
mod meetings;
mod monitors;
mod read_write;
mod semaphores;
mod threadless;
mod withdrawn;

use std::time::Duration;

use leno_explore::{Explorer, thread};
use leno_flexible::System;

/// Under fewer schedules than usual, as there are so many tests.
#[track_caller]
fn explore(program: impl Fn() + Send + Sync + 'static) {
    Explorer::new().runs(300).check(program);
}

/// Sleeps for so long; in a world nobody else can do anything when this ends.
fn wait(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

/// Waits until the coroutines of what was dropped have ended.
fn assert_gone(system: &System) {
    for _ in 0..1_000_000 {
        if system.snapshot().coroutines.is_empty() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{}", system.snapshot());
}
