//! Threads of an explored program.

use core::panic::Location;
use core::time::Duration;

use leno_kernel::layer::world;
use leno_kernel::{JoinHandle, Name};

use crate::tell;

/// Spawns a thread into the calling code's exploration. It is a coroutine that finds itself on a
/// plain thread.
///
/// # Panics
/// Outside an exploration.
#[track_caller]
pub fn spawn<T: Send + 'static>(
    name: impl Into<Name>,
    f: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    match world::spawn(name, f) {
        Some(handle) => handle,
        None => panic!("explore::thread is for programs that are being explored"),
    }
}

/// Lets other threads run.
#[track_caller]
pub fn yield_now() {
    tell::about_to("lets others run", Location::caller());
    leno_kernel::yield_now();
}

/// Waits for `time` to pass, which takes none.
#[track_caller]
pub fn sleep(time: Duration) {
    tell::about_to("sleeps", Location::caller());
    leno_kernel::sleep(time);
}
