use std::any::Any;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::Duration;

use super::{Panic, Section, StateCell, call, dispose, lock, try_dispose};

/// A payload whose `Drop` panics with another one, as often as it says.
struct Chain(usize, &'static std::thread::LocalKey<Cell<usize>>);

impl Drop for Chain {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
        if self.0 > 0 {
            resume_unwind(Box::new(Chain(self.0 - 1, self.1)));
        }
    }
}

#[test]
fn a_payload_whose_drop_panics_goes_no_further() {
    thread_local!(static DROPPED: Cell<usize> = const { Cell::new(0) });
    let raised = call(|| -> () { resume_unwind(Box::new(Chain(3, &DROPPED))) }).unwrap_err();
    drop(raised);
    assert_eq!(DROPPED.get(), 4);
}

#[test]
#[cfg_attr(miri, ignore = "it leaks on purpose")]
fn a_chain_of_payloads_without_end_is_leaked() {
    thread_local!(static DROPPED: Cell<usize> = const { Cell::new(0) });
    drop(Panic::new(Box::new(Chain(usize::MAX, &DROPPED))));
    assert_eq!(DROPPED.get(), super::PAYLOADS);
}

#[test]
fn a_value_whose_drop_panics_is_disposed_of() {
    thread_local!(static DROPPED: Cell<usize> = const { Cell::new(0) });
    dispose(Chain(1, &DROPPED));
    let raised = try_dispose(Chain(1, &DROPPED)).unwrap_err();
    assert!(raised.payload().is::<Chain>());
    drop(raised);
    assert_eq!(DROPPED.get(), 4);
}

#[test]
fn sections_nest_and_close() {
    let one = Section::open();
    let two = Section::open();
    drop(one);
    drop(two);
    let ran = Rc::new(Cell::new(false));
    call(|| ran.set(true)).unwrap();
    assert!(ran.get());
}

#[test]
fn messages_are_shown() {
    let shown = |payload: Box<dyn Any + Send>| format!("{:?}", Panic::new(payload));
    assert_eq!(shown(Box::new("text")), "Panic(\"text\")");
    assert_eq!(shown(Box::new(String::from("text"))), "Panic(\"text\")");
    assert_eq!(shown(Box::new(1)), "Panic(..)");
}

/// Runs the test of this name again, as a child whose user code runs in a section. What it has said, if it has aborted.
#[cfg(debug_assertions)]
fn said_by_a_child(name: &str) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let name = format!("user::tests::{name}");
    command.args([&name, "--exact", "--nocapture", "--test-threads", "1"]).env(CHILD, "1");
    let output = command.output().unwrap();
    (output.status.signal() == Some(libc::SIGABRT))
        .then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(debug_assertions)]
const CHILD: &str = "LENO_USER_TESTS_CHILD";

/// Calls user code, which must end a child, while what is given lives.
#[cfg(debug_assertions)]
fn is_noticed<T>(name: &str, held: impl FnOnce() -> T) {
    if std::env::var_os(CHILD).is_none() {
        let said = said_by_a_child(name).expect("it has aborted");
        assert!(said.contains("inside a critical section"), "{said}");
        return;
    }
    let _held = held();
    drop(call(|| ()));
}

#[test]
#[cfg(debug_assertions)]
#[cfg_attr(miri, ignore = "starts a process")]
fn user_code_is_noticed_while_a_state_is_read() {
    let cell = StateCell::new(1);
    is_noticed("user_code_is_noticed_while_a_state_is_read", || cell.borrow());
}

#[test]
#[cfg(debug_assertions)]
#[cfg_attr(miri, ignore = "starts a process")]
fn user_code_is_noticed_while_a_state_is_written() {
    let cell = StateCell::new(1);
    is_noticed("user_code_is_noticed_while_a_state_is_written", || cell.borrow_mut());
}

#[test]
#[cfg(debug_assertions)]
#[cfg_attr(miri, ignore = "starts a process")]
fn user_code_is_noticed_under_a_lock_that_was_waited_with() {
    let (mutex, changed) = (std::sync::Mutex::new(1), std::sync::Condvar::new());
    is_noticed("user_code_is_noticed_under_a_lock_that_was_waited_with", || {
        let (locked, is_over) = lock(&mutex).wait_timeout(&changed, Duration::from_millis(1));
        assert!(is_over || *locked == 1);
        locked
    });
}

#[test]
fn a_state_or_lock_that_was_left_is_no_section() {
    let (cell, mutex) = (StateCell::new(1), std::sync::Mutex::new(2));
    *cell.borrow_mut() += 1;
    assert_eq!(*cell.borrow(), 2);
    assert_eq!(cell.take(), 2);
    let changed = std::sync::Condvar::new();
    drop(lock(&mutex).wait_timeout(&changed, Duration::from_millis(1)));
    assert!(call(|| ()).is_ok());
}
