//! Child processes.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::rc::Rc;
use std::time::Duration;

use leno_io::process::{Command, Stdio};
use leno_kernel::{LocalSystem, System, VirtualTime, block_on, spawn_local, yield_now};

/// So long nothing takes here.
const LONG: Duration = Duration::from_secs(600);

fn run<T: 'static>(body: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::new();
    let result = system.spawn(body);
    system.run().unwrap();
    result.join().unwrap()
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Whether the system still knows a process, be it as a zombie.
fn is_known(id: u32) -> bool {
    std::path::Path::new(&format!("/proc/{id}")).exists()
}

fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it did not become so in a minute");
}

#[test]
fn much_goes_through_cat_both_ways_at_once() {
    const ALL: usize = 4 << 20;
    let bytes: Vec<u8> = (0..ALL).map(|n| (n ^ (n >> 9)) as u8).collect();
    let expected = bytes.clone();
    let read = run(move || {
        let mut cat =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, mut stdout) = (cat.stdin.take().unwrap(), cat.stdout.take().unwrap());
        // Neither pipe holds all of it.
        let write = spawn_local(move || stdin.write_all(&bytes).unwrap());
        let mut read = Vec::new();
        stdout.read_to_end(&mut read).unwrap();
        write.join().unwrap();
        assert!(cat.wait().unwrap().success());
        read
    });
    assert!(read == expected);
}

#[test]
fn futures_talk_to_cat_too() {
    const ALL: usize = 1 << 20;
    let system = LocalSystem::new();
    let read = system.spawn_future(async {
        let mut cat =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (cat.stdin.take().unwrap(), cat.stdout.take().unwrap());
        let write = leno_kernel::spawn_local_future(async move {
            stdin.write_all_async(&vec![7; ALL]).await.unwrap();
        });
        let mut read = Vec::new();
        stdout.read_to_end_async(&mut read).await.unwrap();
        write.await.unwrap();
        assert!(cat.wait_async().await.unwrap().success());
        read
    });
    system.run().unwrap();
    assert!(read.join().unwrap() == vec![7; ALL]);
}

#[test]
fn both_outputs_are_read_at_once() {
    // Each more than a pipe holds, and stderr first.
    let script = "head -c 300000 /dev/zero >&2; head -c 200000 /dev/zero; exit 5";
    let check = |output: std::io::Result<std::process::Output>| {
        let output = output.unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (200_000, 300_000));
        assert_eq!(output.status.code(), Some(5));
    };
    check(run(move || sh(script).output()));
    check(run(move || sh(script).output_timeout(LONG)));
    check(sh(script).output());
    check(block_on(async { sh(script).output_async().await }));
}

#[test]
fn what_is_set_stays_set_and_what_is_not_is_inherited_again() {
    run(|| {
        let mut command = sh("cat; echo out");
        command.stdin(Stdio::null()).stderr(Stdio::null());
        assert_eq!(command.output().unwrap().stdout, b"out\n");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        assert!(child.stdin.is_none() && child.stderr.is_none());
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "out\n");
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn exit_codes_and_signals_are_told() {
    run(|| {
        assert_eq!(sh("exit 7").status().unwrap().code(), Some(7));
        assert_eq!(sh("exit 7").status_timeout(LONG).unwrap().code(), Some(7));
        assert_eq!(sh("kill -TERM $$").status().unwrap().signal(), Some(15));
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(9));
        // Whoever asks again gets the same, and killing it does nothing.
        assert_eq!(child.wait().unwrap(), status);
        child.kill().unwrap();
    });
}

#[test]
fn others_run_while_one_waits_for_a_child() {
    let system = LocalSystem::new();
    let (go, goes) = std::io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
    let waits = system.spawn(move || {
        // It ends when the other one has had its turn.
        let mut child = Command::new("cat").stdin(goes).stdout(Stdio::null()).spawn().unwrap();
        child.wait().unwrap().success()
    });
    let other = system.spawn(move || {
        yield_now();
        drop(go);
    });
    system.run().unwrap();
    assert!(waits.join().unwrap() && other.join().is_ok());
}

#[test]
fn a_wait_with_a_limit_ends_and_the_child_goes_on() {
    run(|| {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let error = child.wait_timeout(Duration::from_millis(3)).unwrap_err();
        let text = format!("the time is over in which to wait for process {}", child.id());
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::TimedOut, text));
        drop(stdin);
        assert!(child.wait_timeout(LONG).unwrap().success());
    });
}

#[test]
fn reading_and_writing_have_limits() {
    run(|| {
        let mut child =
            Command::new("sleep").arg("1000").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = child.as_mut().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        stdout.set_timeout(Some(Duration::from_millis(3)));
        assert_eq!(stdout.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        stdin.set_timeout(Some(Duration::from_millis(3)));
        let error = stdin.write_all(&vec![0; 1 << 20]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(stdin.write(&[0]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn futures_have_the_limits_too_and_read_as_much_as_they_want() {
    block_on(async {
        let mut child =
            Command::new("sleep").arg("1000").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = child.as_mut().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        stdout.set_timeout(Some(Duration::from_millis(3)));
        let late = stdout.read_async(&mut [0]).await.unwrap_err();
        assert_eq!(late.to_string(), "the time is over in which to read");
        let late = stdout.read_to_end_async(&mut Vec::new()).await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        stdin.set_timeout(Some(Duration::from_millis(3)));
        let late = stdin.write_all_async(&vec![0; 1 << 20]).await.unwrap_err();
        assert_eq!(late.to_string(), "the time is over in which to write");
        child.kill().unwrap();
        child.wait_async().await.unwrap();

        let mut child = sh("printf 'one two'").stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (mut first, mut rest) = ([0; 4], String::new());
        stdout.read_exact_async(&mut first).await.unwrap();
        stdout.read_to_string_async(&mut rest).await.unwrap();
        assert_eq!((&first, &*rest), (b"one ", "two"));
        let ended = stdout.read_exact_async(&mut first).await.unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
        assert!(child.wait_async().await.unwrap().success());
    });
}

#[test]
fn an_output_that_takes_too_long_is_killed() {
    let id = run(|| {
        let mut command = sh("echo $$ >&2; exec sleep 1000");
        let (mut reader, writer) = std::io::pipe().unwrap();
        command.stderr(writer);
        let read = spawn_local(move || {
            leno_kernel::blocking(move || {
                let mut line = Vec::new();
                let mut byte = [0];
                while reader.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
                    line.push(byte[0]);
                }
                String::from_utf8(line).unwrap().parse::<u32>().unwrap()
            })
        });
        let error = command.output_timeout(Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(command);
        // Killed before it could say who it is, perhaps.
        read.join().ok()
    });
    if let Some(id) = id {
        until(|| !is_known(id));
    }
}

#[test]
fn whoever_exits_waits_no_more_and_kills_what_nobody_else_has() {
    let system = System::new(1).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let waits = system.spawn(move || {
        let mut command = sh("echo $$; exec sleep 1000");
        let (mut reader, writer) = std::io::pipe().unwrap();
        command.stdout(writer);
        drop(leno_kernel::spawn(move || {
            leno_kernel::blocking(move || {
                let mut line = [0; 32];
                let count = reader.read(&mut line).unwrap();
                let text = String::from_utf8(line[..count].to_vec()).unwrap();
                tell.send(text.trim().parse::<u32>().unwrap()).unwrap();
            });
        }));
        command.status()
    });
    let id = told.recv().unwrap();
    waits.cancel();
    assert!(waits.join().is_err());
    until(|| !is_known(id));
}

#[test]
fn a_dropped_child_goes_on_and_leaves_no_zombie() {
    let (id, stdin) = run(|| {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        (child.id(), child.stdin.take())
    });
    assert!(is_known(id));
    drop(stdin);
    until(|| !is_known(id));
}

#[test]
fn a_child_that_was_to_be_killed_is() {
    let id = run(|| Command::new("sleep").arg("1000").kill_on_drop(true).spawn().unwrap().id());
    until(|| !is_known(id));
    // Also of a thread.
    let id = Command::new("sleep").arg("1000").kill_on_drop(true).spawn().unwrap().id();
    until(|| !is_known(id));
}

#[test]
fn many_children_at_once() {
    let system = LocalSystem::new();
    let sum = Rc::new(std::cell::Cell::new(0));
    for n in 0..20 {
        let sum = sum.clone();
        drop(system.spawn(move || {
            let code = sh(&format!("exit {n}")).status().unwrap().code().unwrap();
            sum.set(sum.get() + code);
        }));
    }
    system.run().unwrap();
    assert_eq!(sum.get(), 190);
}

#[test]
fn virtual_time_refuses_processes() {
    let system = LocalSystem::builder().platform(VirtualTime::new()).build();
    let refused = system.spawn(|| Command::new("true").status().unwrap_err());
    system.run().unwrap();
    let error = refused.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().starts_with("start \"true\": "), "{error}");
}
