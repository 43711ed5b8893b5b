//! The schedulers of the peers, set up the same way for every bench but `skynet`: one thread runs
//! everything, because leno's rings and coroutines stay on one thread as well.

use std::sync::Once;

use crate::bench::rings::STACK;
use crate::contender::Failure;

/// A tokio runtime that runs its tasks on the thread that drives it.
pub fn tokio_on_this_thread() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().build().map_err(Failure::failed)
}

/// Gives may's scheduler one worker and the ring's stack size, before its first use.
pub fn may_on_one_worker() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let config = may::config();
        config.set_workers(1).set_stack_size(STACK / size_of::<usize>());
        // The worker may run on any core, as every other contender may.
        config.set_worker_pin(false);
    });
}

/// A tokio runtime of two threads, for what goes across cores.
pub fn tokio_on_two_workers() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).build().map_err(Failure::failed)
}

/// Gives may's scheduler two workers; only in a process of its own, because it cannot be changed.
pub fn may_on_two_workers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let config = may::config();
        config.set_workers(2).set_stack_size(STACK / size_of::<usize>());
        config.set_worker_pin(false);
    });
}

/// A tokio runtime as [`tokio_on_this_thread`], with a clock, for crates that want one.
pub fn tokio_on_this_thread_with_time() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Failure::failed)
}
