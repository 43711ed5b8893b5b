//! Stderr is the process's, so each test runs itself again in a child process that has another one.

use std::fs::File;
use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};

use super::*;

const CHILD: &str = "LENO_LAST_WORDS_CHILD";

/// Whether this process is the child.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test of this name again, as a child with this stderr. How it has ended, and what it has said.
fn child(name: &str, stderr: Stdio) -> (ExitStatus, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = format!("last_words::tests::{name}");
    command.args([&name, "--exact", "--nocapture", "--test-threads", "1"]).env(CHILD, "1");
    let mut child = command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut said).unwrap();
    }
    (child.wait().unwrap(), said)
}

fn has_aborted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(libc::SIGABRT)
}

/// Gives up inside of what would catch an unwinding.
fn give_up_caught() {
    let caught =
        catch_unwind(|| -> () { crate::unwind::give_up(format_args!("a rule is broken")) });
    assert!(caught.is_ok(), "unreachable");
    // An unwinding that is caught ends the process with another status.
    std::process::exit(7);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn giving_up_says_why_and_aborts() {
    if is_child() {
        give_up_caught();
    }
    let (status, said) = child("giving_up_says_why_and_aborts", Stdio::piped());
    assert!(has_aborted(status), "{status}");
    assert_eq!(said, "leno: a rule is broken\n");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn giving_up_aborts_with_stderr_full() {
    if is_child() {
        give_up_caught();
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (status, _) = child("giving_up_aborts_with_stderr_full", full.into());
    assert!(has_aborted(status), "{status}");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn giving_up_aborts_with_stderr_closed() {
    if is_child() {
        // SAFETY: nobody of this process uses it but what is tested.
        unsafe { libc::close(2) };
        give_up_caught();
    }
    let (status, _) = child("giving_up_aborts_with_stderr_closed", Stdio::null());
    assert!(has_aborted(status), "{status}");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn giving_up_aborts_although_what_it_says_panics() {
    struct Panics;
    impl fmt::Display for Panics {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            struct AndAgain;
            impl Drop for AndAgain {
                fn drop(&mut self) {
                    panic!("when it is dropped");
                }
            }
            std::panic::resume_unwind(Box::new(AndAgain))
        }
    }
    if is_child() {
        let caught = catch_unwind(|| -> () { crate::unwind::give_up(format_args!("so {Panics}")) });
        assert!(caught.is_ok(), "unreachable");
        std::process::exit(7);
    }
    let (status, said) = child("giving_up_aborts_although_what_it_says_panics", Stdio::piped());
    assert!(has_aborted(status), "{status}");
    assert_eq!(said, "leno: so  ..\n");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_long_message_is_said_as_a_whole() {
    let long = "0123456789".repeat(SIZE / 2);
    if is_child() {
        return say(format_args!("{long}"));
    }
    let (status, said) = child("a_long_message_is_said_as_a_whole", Stdio::piped());
    assert!(status.success(), "{status}");
    assert_eq!(said, format!("leno: {long}\n"));
}
