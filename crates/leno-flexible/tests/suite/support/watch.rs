//! What most tests need: an end in time, a state that is waited for, what a panic says.

use std::any::Any;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use leno_flexible::{Flexible, State};

/// Long enough for any machine, short enough for a test.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `f` on a thread of its own; it must end in time.
pub(crate) fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(f())));
    told.recv_timeout(LIMIT).expect("it ends in time, and does not panic")
}

/// Waits until a coroutine is in this state.
pub(crate) fn until<P, R>(own: &Flexible<P, R>, state: State) {
    while own.state() != state {
        thread::yield_now();
    }
}

/// What a panic says.
pub(crate) fn text(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
