//! What several files of these tests use.
#![cfg(not(any(loom, leno_baton)))]

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs `f` on a thread of its own, and fails if that takes too long.
pub(crate) fn bounded(f: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let thread = std::thread::spawn(move || {
        f();
        done.send(()).unwrap();
    });
    match wait.recv_timeout(Duration::from_secs(60)) {
        Err(RecvTimeoutError::Timeout) => panic!("it does not end"),
        _ => thread.join().unwrap(),
    }
}
