//! Values that misbehave, and tests that might abort or hang.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::panic::panic_any;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Runs a test in a process of its own, which ends after a minute at most. Under miri there is only one.
pub(crate) fn apart(test: &str, body: fn()) {
    const ROLE: &str = "LENO_PROCESS_HOSTILE";
    if cfg!(miri) || std::env::var_os(ROLE).is_some() {
        return body();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{test} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{test}: {status}");
}

/// A payload whose `Drop` panics.
pub(crate) struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("a payload panics");
    }
}

/// A value whose `Drop` panics, and which counts that it was dropped.
#[derive(Debug)]
pub(crate) struct Bomb(pub(crate) Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        panic_any(Payload);
    }
}
