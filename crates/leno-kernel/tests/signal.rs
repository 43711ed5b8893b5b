//! A signal makes the process dump all its systems to stderr, and go on. In a process of its own.
//! Not in `suite`: for a moment a new process keeps the sockets open that other tests close.
#![cfg(all(target_os = "linux", not(miri)))]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use leno_kernel::{Options, Reason, System, dump_on_signal, park};

const ROLE: &str = "LENO_TEST_SIGNAL";
const SIGUSR1: i32 = 10;

fn named(name: &'static str) -> Options {
    Options::new().name(name)
}

/// What the child does: waits in coroutines until its stdin ends, or for a while.
fn play() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(20));
        std::process::exit(1);
    });
    dump_on_signal(SIGUSR1).unwrap();
    dump_on_signal(SIGUSR1).unwrap();
    let system = System::builder().cores(2).name("works").build().unwrap();
    let parked = system.spawn_with(&named("dreamer"), || {
        park(Reason::Passive);
    });
    while parked.co().is_none() {
        std::thread::yield_now();
    }
    std::io::stdout().write_all(b"\nready\n").unwrap();
    let mut end = String::new();
    std::io::stdin().read_to_string(&mut end).unwrap();
    parked.unpark();
    parked.join().unwrap();
    std::io::stdout().write_all(b"\nwent on\n").unwrap();
}

#[test]
#[cfg_attr(leno_tsan, ignore = "ThreadSanitizer holds signals back while a thread reads")]
fn a_signal_dumps_all_systems_and_the_program_goes_on() {
    const TEST: &str = "a_signal_dumps_all_systems_and_the_program_goes_on";
    if std::env::var_os(ROLE).is_some() {
        return play();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([TEST, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "ready"));
    let mut dumps = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    for _ in 0..2 {
        let sent = Command::new("kill").arg("-USR1").arg(child.id().to_string()).status();
        assert!(sent.unwrap().success());
        assert!(dumps.any(|line| line == "system 'works', 2 cores"), "the child has ended");
        assert!(dumps.any(|line| line.starts_with("  'dreamer' (#")), "the child has ended");
    }
    drop(child.stdin.take());
    assert!(said.any(|line| line.unwrap() == "went on"));
    assert!(child.wait().unwrap().success());
}

#[test]
fn signals_that_cannot_be_used_are_refused() {
    let text = |signal| dump_on_signal(signal).unwrap_err().to_string();
    assert!(text(11).starts_with("no dump on signal 11: it means a fault"));
    assert!(dump_on_signal(9).is_err(), "it cannot be handled");
    assert!(dump_on_signal(1_000).is_err(), "there is none");
}
