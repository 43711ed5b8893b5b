//! What ends a coroutine, a call or a system, and what is dropped then: others go on.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use leno_flexible::{Flexible, Me, State, System};

/// Runs `f` on a thread of its own; it must end in time.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(f())));
    told.recv_timeout(Duration::from_secs(60)).expect("it ends in time, and does not panic")
}

/// Waits until a coroutine is in this state.
fn until<P, R>(own: &Flexible<P, R>, state: State) {
    while own.state() != state {
        thread::yield_now();
    }
}

/// Its only handle is a parameter: dropping that locks the system.
#[test]
fn the_parameter_of_a_caller_that_is_unwound_is_dropped_outside_of_the_lock() {
    in_time(|| {
        let system = System::new();
        let waits = system.create("waits", |_: &mut Me<Flexible<(), ()>, ()>| {
            leno_kernel::sleep(Duration::from_secs(3600));
        });
        let callee = waits.clone();
        let calls = system.create("calls", move |me: &mut Me<(), ()>| {
            let own = me.create("third", |_: &mut Me<(), ()>| {});
            let _ = callee.call(own);
        });
        calls.kick().unwrap();
        until(&waits, State::Parked);
        assert_eq!(calls.state(), State::Calling);
        drop(system);
        assert_eq!(calls.state(), State::Terminated);
    });
}
