//! What several of these tests need: a log, a value that is seen to drop, and child processes.
#![allow(dead_code, reason = "some builds leave out the tests that use it")]

use std::cell::RefCell;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::rc::Rc;

/// Says which test a child process is to play.
const CHILD: &str = "LENO_TEST_CHILD";

/// A text that several coroutines of a thread write to.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<String>>);

impl Log {
    /// An empty log.
    pub(crate) fn new() -> Log {
        Log::default()
    }

    /// Adds to the text.
    pub(crate) fn push(&self, text: impl AsRef<str>) {
        self.0.borrow_mut().push_str(text.as_ref());
    }

    /// The text so far.
    pub(crate) fn text(&self) -> String {
        self.0.borrow().clone()
    }

    /// The text so far, which then starts anew.
    pub(crate) fn take(&self) -> String {
        self.0.take()
    }

    /// A value that writes `text` when it is dropped.
    pub(crate) fn on_drop(&self, text: &'static str) -> OnDrop<impl FnMut() + use<>> {
        let log = self.clone();
        OnDrop(move || log.push(text))
    }
}

/// Calls its closure when it is dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// How often a loop runs: `times`, or `few` where each turn is slow (under miri, and where each
/// coroutine is an OS thread).
pub(crate) fn times(times: usize, few: usize) -> usize {
    if cfg!(any(miri, leno_baton)) { few } else { times }
}

/// The text of a panic's payload.
pub(crate) fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("(no text)")
}

/// How a child process ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Child {
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// What it returned, if no signal ended it.
    pub(crate) code: Option<i32>,
    /// Its standard output, the test harness's lines included.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

impl Child {
    /// Asserts that the child passed as a test does.
    #[track_caller]
    pub(crate) fn passed(&self) -> &Child {
        assert_eq!(self.code, Some(0), "{self:#?}");
        assert!(self.stdout.contains("1 passed"), "the child ran no test: {self:#?}");
        self
    }

    /// Asserts that the child ended by `abort`.
    #[track_caller]
    pub(crate) fn aborted(&self) -> &Child {
        const SIGABRT: i32 = 6;
        assert_eq!(self.signal, Some(SIGABRT), "{self:#?}");
        self
    }

    /// Asserts that it wrote `text` to its standard error.
    #[track_caller]
    pub(crate) fn said(&self, text: &str) -> &Child {
        assert!(self.stderr.contains(text), "no {text:?} in {self:#?}");
        self
    }

    /// Asserts that it did not write `text` to its standard error.
    #[track_caller]
    pub(crate) fn never_said(&self, text: &str) -> &Child {
        assert!(!self.stderr.contains(text), "{text:?} is in {self:#?}");
        self
    }
}

impl From<Output> for Child {
    fn from(output: Output) -> Child {
        Child {
            signal: output.status.signal(),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Whether this process was started by [`rerun`] to play `test`.
pub(crate) fn plays(test: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|played| played == test)
}

/// Runs one test of this binary again, alone, in a process of its own. The test is named with its path:
/// `concat!(module_path!(), "::name")`.
pub(crate) fn rerun(test: &str) -> Child {
    rerun_as(test, Command::new(own_path()))
}

/// The same, with an environment variable set.
pub(crate) fn rerun_with(test: &str, variable: &str, value: &str) -> Child {
    let mut command = Command::new(own_path());
    command.env(variable, value);
    rerun_as(test, command)
}

/// The same, with a limit on its address space.
pub(crate) fn rerun_within(test: &str, kibibytes: usize) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\"")]).arg(own_path());
    rerun_as(test, command)
}

/// The same, with a standard error that refuses every write.
pub(crate) fn rerun_without_stderr(test: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2> /dev/full"]).arg(own_path());
    rerun_as(test, command)
}

fn own_path() -> std::path::PathBuf {
    std::env::current_exe().expect("a test knows its own path")
}

fn rerun_as(test: &str, mut command: Command) -> Child {
    assert!(std::env::var_os(CHILD).is_none(), "a child process starts no further ones");
    let (_crate, within) = test.split_once("::").expect("a name with its path");
    command.args(["--exact", within, "--nocapture", "--test-threads", "1"]);
    command.env(CHILD, test).env("RUST_BACKTRACE", "0");
    command.output().expect("a test can start itself").into()
}

/// A line of `/proc/self/status`, in KiB.
pub(crate) fn memory(line: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let found = status.lines().find_map(|entry| entry.strip_prefix(line)?.strip_prefix(':'));
    let figure = found.and_then(|rest| rest.trim().strip_suffix("kB")).expect("a figure in kB");
    figure.trim().parse().expect("a number")
}
