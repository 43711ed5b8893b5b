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

/// Runs `f` in a process of its own, which has to end with `message`; `module` and `name` are
/// those of the calling test.
#[track_caller]
pub(crate) fn ends_the_process(module: &str, name: &str, message: &str, f: impl FnOnce()) {
    const INSIDE: &str = "LENO_KERNEL_ENDS";
    if std::env::var(INSIDE).is_ok_and(|inside| inside == name) {
        f();
        return;
    }
    let path = format!("{module}::{name}");
    let (_, test) = path.split_once("::").expect("a crate's name is before it");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let child = child.args([test, "--exact", "--nocapture"]).env(INSIDE, name);
    let output = child.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && words.contains(message), "{}: {words}", output.status);
}
