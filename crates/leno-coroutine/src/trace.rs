//! Every operation, as a line of text.
//!
//! Off by default, and then it costs nothing: a coroutine that is traced has a bit set beside its
//! state, which the fast path tests anyway. Turn it on for the coroutines of a thread with
//! [`start`], for a piece of code with [`record`], or for all threads with the environment
//! variable `LENO_TRACE=1`.

use core::cell::RefCell;
use core::fmt::Write as _;

use leno_context::control::Control;
use leno_context::last_words;
use leno_context::thread;

use crate::raw;

thread_local! {
    static RECORD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Whether coroutines created now on this thread are traced.
#[inline(always)]
pub fn is_on() -> bool {
    thread::current().watching.get()
}

/// Prints every operation on this thread's coroutines to stderr from now on.
pub fn start() {
    set(true);
}

/// Stops what [`start`] started.
pub fn stop() {
    set(false);
}

fn set(on: bool) {
    thread::current().watching.set(on);
    raw::list::watch_all(on);
}

/// Runs `f` and returns, beside its result, a line for each operation on this thread's
/// coroutines meanwhile.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::{Builder, trace};
///
/// let (_, text) = trace::record(|| {
///     let co = Builder::new().name("a").coroutine(|co, ()| co.suspend(()));
///     co.unwrap().resume(());
/// });
/// assert_eq!(text, "create 'a'\nresume 'a'\nsuspend 'a'\nexit 'a'\n");
/// ```
pub fn record<R>(f: impl FnOnce() -> R) -> (R, String) {
    struct Restore(bool, Option<String>);
    impl Drop for Restore {
        fn drop(&mut self) {
            set(self.0);
            // At the end of its thread there may be nowhere to put it.
            let _ = RECORD.try_with(|record| record.replace(self.1.take()));
        }
    }
    let _restore = Restore(is_on(), RECORD.replace(Some(String::new())));
    set(true);
    let result = f();
    let text = RECORD.take().unwrap_or_default();
    (result, text)
}

#[inline]
pub(crate) fn event(what: &str, control: &Control) {
    if control.watched() {
        write(what, control);
    }
}

/// Never unwinds: it is called while a coroutine or a ring is between two states.
#[cold]
fn write(what: &str, control: &Control) {
    let recorded = RECORD.try_with(|record| match &mut *record.borrow_mut() {
        Some(text) => writeln!(text, "{what} {}", control.shown()).is_ok(),
        None => false,
    });
    if recorded != Ok(true) {
        last_words::say(format_args!("{what} {}", control.shown()));
    }
}
