//! Signals. They are sent to a child, which is this program again: see `in_child`.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use leno_channel::{Select, shared};
use leno_io::signal::{Signal, Signals};
use leno_kernel::{LocalSystem, System, VirtualTime, block_on, cancel, sleep};

/// What the child does when it is told to by this variable.
const ROLE: &str = "LENO_SIGNAL_TEST";

/// This program again, as one that runs the role only, and has said that it is ready.
fn child(role: &str) -> (Child, BufReader<impl Read>) {
    let (_crate, in_child) = concat!(module_path!(), "::in_child").split_once("::").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", in_child, "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    assert_eq!(line(&mut output), "ready");
    (child, output)
}

/// The next line that is the role's and not of the test harness.
fn line(output: &mut impl BufRead) -> String {
    let mut text = String::new();
    while output.read_line(&mut text).unwrap() > 0 {
        if let Some((_, own)) = text.split_once("> ") {
            return own.trim().to_owned();
        }
        text.clear();
    }
    panic!("the child has ended");
}

fn say(what: impl std::fmt::Display) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "> {what}").unwrap();
    stdout.flush().unwrap();
}

fn kill(child: &Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Not a test of its own: what the children of the others run.
#[test]
fn in_child() {
    match std::env::var(ROLE).as_deref() {
        Ok("stream") => stream(),
        Ok("kinds") => kinds(),
        Ok("select") => select(),
        Ok("dump") => dump(),
        Ok("small") => small_stacks(),
        Ok("full") => full(),
        Ok("refused") => refused(),
        _ => {}
    }
}

fn stream() {
    let system = LocalSystem::new();
    drop(system.spawn(|| {
        let signals = Signals::new(&[Signal::User1, Signal::Terminate]).unwrap();
        say("ready");
        loop {
            let signal = signals.recv().unwrap();
            say(signal);
            if signal == Signal::Terminate {
                break;
            }
        }
    }));
    system.run().unwrap();
}

#[test]
fn signals_come_one_after_the_other() {
    let (mut child, mut output) = child("stream");
    for _ in 0..5 {
        kill(&child, "-USR1");
        assert_eq!(line(&mut output), "SIGUSR1");
    }
    kill(&child, "-TERM");
    assert_eq!(line(&mut output), "SIGTERM");
    assert!(child.wait().unwrap().success());
}

/// A thread, a coroutine and a future wait at the same stream, and one at another.
fn kinds() {
    let signals = std::sync::Arc::new(Signals::new(&[Signal::User1, Signal::User2]).unwrap());
    let other = Signals::new(&[Signal::User1]).unwrap();
    let system = System::new(1).unwrap();
    let inside = signals.clone();
    let co = system.spawn(move || inside.recv().unwrap());
    let inside = signals.clone();
    let future = system.spawn_future(async move { inside.recv_async().await.unwrap() });
    let inside = signals.clone();
    let thread = std::thread::spawn(move || inside.recv().unwrap());
    say("ready");
    say(block_on(other.recv_async()).unwrap());
    // They get one each; the last one may take any number of rounds.
    let mut heard = vec![co.join().unwrap(), future.join().unwrap(), thread.join().unwrap()];
    heard.dedup();
    say(heard.len());
}

#[test]
fn all_kinds_of_callers_wait_at_once() {
    let (mut child, mut output) = child("kinds");
    kill(&child, "-USR1");
    assert_eq!(line(&mut output), "SIGUSR1");
    // Those that come together are one; so again until all three have got theirs.
    while child.try_wait().unwrap().is_none() {
        let id = child.id().to_string();
        let _ = Command::new("kill").args(["-USR2", &id]).stderr(Stdio::null()).status();
    }
    assert!(child.wait().unwrap().success());
    assert!(line(&mut output).parse::<u32>().unwrap() > 0);
}

fn select() {
    let system = LocalSystem::new();
    drop(system.spawn(|| {
        let signals = Signals::new(&[Signal::Interrupt]).unwrap();
        let (_stop, stopped) = shared::channel::<()>();
        say("ready");
        let heard = Select::new()
            .recv(&stopped, |_| None)
            .source(signals.recv_async(), |signal| signal.ok())
            .wait()
            .unwrap();
        say(heard.map_or("none".to_owned(), |signal| signal.to_string()));
    }));
    system.run().unwrap();
}

#[test]
fn a_select_waits_for_a_signal() {
    let (mut child, mut output) = child("select");
    kill(&child, "-INT");
    assert_eq!(line(&mut output), "SIGINT");
    assert!(child.wait().unwrap().success());
}

fn dump() {
    leno_kernel::dump_on_signal(Signal::User2.number()).unwrap();
    let error = Signals::new(&[Signal::User2]).unwrap_err();
    assert!(error.to_string().contains("has a handler already"), "{error}");
    let system = LocalSystem::new();
    drop(system.spawn(|| {
        let signals = Signals::new(&[Signal::User1]).unwrap();
        assert!(leno_kernel::dump_on_signal(Signal::User1.number()).is_err());
        say("ready");
        say(signals.recv().unwrap());
    }));
    system.run().unwrap();
}

#[test]
fn dumps_by_signal_and_streams_live_together() {
    let (mut child, mut output) = child("dump");
    kill(&child, "-USR2");
    kill(&child, "-USR1");
    assert_eq!(line(&mut output), "SIGUSR1");
    assert!(child.wait().unwrap().success());
}

/// Signals that come while a coroutine runs on a small stack.
fn small_stacks() {
    let system = LocalSystem::new();
    let signals = Signals::new(&[Signal::User1]).unwrap();
    let options = leno_kernel::Options::new().stack_size(16 << 10);
    drop(system.spawn_with(&options, move || {
        say("ready");
        while signals.try_recv().is_none() {
            std::hint::spin_loop();
        }
        say("heard");
    }));
    system.run().unwrap();
}

#[test]
fn a_handler_does_not_need_the_coroutines_stack() {
    let (mut child, mut output) = child("small");
    kill(&child, "-USR1");
    assert_eq!(line(&mut output), "heard");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_limit_and_an_exit_end_the_wait() {
    let system = LocalSystem::new();
    let late = system.spawn(|| {
        let signals = Signals::new(&[Signal::Window]).unwrap();
        signals.recv_timeout(Duration::from_millis(3)).unwrap_err().kind()
    });
    let exits = system.spawn(|| Signals::new(&[Signal::Window]).unwrap().recv());
    let co = exits.co().expect("it is of this system");
    drop(system.spawn(move || {
        sleep(Duration::from_millis(1));
        cancel(co);
    }));
    system.run().unwrap();
    assert_eq!(late.join().unwrap(), std::io::ErrorKind::TimedOut);
    assert!(exits.join().is_err());
}

fn full() {
    say("ready");
    let mut all = Vec::new();
    let error = loop {
        match Signals::new(&[Signal::Window]) {
            Ok(signals) => all.push(signals),
            Err(error) => break error,
        }
    };
    assert!(all.len() == 64 && error.to_string().contains("at most 64"), "{error}");
    all.clear();
    assert!(Signals::new(&[Signal::Window]).unwrap().try_recv().is_none());
    say("empty");
}

#[test]
fn there_are_only_so_many() {
    let (mut child, mut output) = child("full");
    assert_eq!(line(&mut output), "empty");
    assert!(child.wait().unwrap().success());
}

#[test]
fn virtual_time_refuses_signals() {
    let system = LocalSystem::builder().platform(VirtualTime::new()).build();
    let refused = system.spawn(|| Signals::new(&[Signal::Window]).unwrap_err().kind());
    system.run().unwrap();
    assert_eq!(refused.join().unwrap(), std::io::ErrorKind::Unsupported);
}

/// One of two signals is somebody else's.
fn refused() {
    leno_kernel::dump_on_signal(Signal::User2.number()).unwrap();
    assert!(Signals::new(&[Signal::Terminate, Signal::User2]).is_err());
    say("ready");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_refusal_changes_no_signal() {
    use std::os::unix::process::ExitStatusExt;
    let (mut child, _output) = child("refused");
    kill(&child, "-TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}
