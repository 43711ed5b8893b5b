//! Tests that might abort or hang.

use std::process::{Command, Stdio};
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
