//! Where the system has no pidfd.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use leno_kernel::{LocalSystem, block_on};

use super::*;

/// A child whose end a helper waits for.
fn spawn(script: &str) -> Child {
    let mut child = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
    child.pidfd = None;
    child
}

#[test]
fn a_helper_waits_instead() {
    let system = LocalSystem::new();
    let waits = system.spawn(|| {
        assert_eq!(spawn("exit 4").wait().unwrap().code(), Some(4));
        let mut child = spawn("read line; exit 5");
        let stdin = child.stdin.take();
        let error = child.wait_timeout(Duration::from_millis(20)).unwrap_err();
        drop(stdin);
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(child.wait().unwrap().code(), Some(5));
    });
    system.run().unwrap();
    waits.join().unwrap();
    assert_eq!(spawn("exit 6").wait().unwrap().code(), Some(6));
    assert_eq!(block_on(async { spawn("exit 7").wait_async().await }).unwrap().code(), Some(7));
    let mut child = spawn("read line");
    let stdin = child.stdin.take();
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    drop(stdin);
}

#[test]
fn an_orphan_leaves_no_zombie_either() {
    let mut child = spawn("read line");
    let (id, stdin) = (child.id(), child.stdin.take());
    drop(child);
    drop(stdin);
    let path = format!("/proc/{id}");
    for _ in 0..60_000 {
        if !std::path::Path::new(&path).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{path} is still there");
}
