//! Values that misbehave, and tests that might abort or hang.

use std::io::Read;
use std::panic::panic_any;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Runs a test of the calling module in a process of its own, which ends after a minute at most. Under miri there is
/// only one.
macro_rules! apart {
    ($test:literal, $body:expr) => {
        crate::support::hostile::run_apart(concat!(module_path!(), "::", $test), $body)
    };
}
pub(crate) use apart;

/// Runs the test of this path; see [`apart!`].
pub(crate) fn run_apart(test: &str, body: fn()) {
    const ROLE: &str = "LENO_PROCESS_HOSTILE";
    if cfg!(miri) || std::env::var_os(ROLE).is_some() {
        return body();
    }
    let (_crate, within) = test.split_once("::").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([within, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let said = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
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
    assert!(said.join().unwrap().contains("1 passed"), "the child ran no test");
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
