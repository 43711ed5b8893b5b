//! Other processes: started, waited for, and ended when they take too long. A contender that hangs
//! must not hang the whole run.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::contender::Failure;

/// More than any turn needs.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs a command to its end and collects what it wrote. What it writes is short: a pipe holds it.
pub fn output(command: &mut Command) -> Result<Output, Failure> {
    let started = Instant::now();
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Failure::failed)?;
    while process.try_wait().map_err(Failure::failed)?.is_none() {
        if started.elapsed() > LIMIT {
            process.kill().map_err(Failure::failed)?;
            process.wait().map_err(Failure::failed)?;
            return Err(Failure::Failed(format!("ended after {} s", LIMIT.as_secs())));
        }
        thread::sleep(Duration::from_millis(3));
    }
    process.wait_with_output().map_err(Failure::failed)
}
