//! What `unwrap` prints of an error is what the error says.

use std::fmt::{Debug, Display};

use leno::channel::{Named, bounded};
use leno::graph::Graph;
use leno::{Builder, Coroutine, Suspender};

#[track_caller]
fn is_told(error: impl Debug + Display, says: &str) {
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn errors_are_debugged_as_they_are_told() {
    let done = Coroutine::new(|_: &Suspender<_, ()>, _input: u32| ());
    done.resume(1);
    is_told(done.try_resume(2).unwrap_err(), "is finished and cannot be resumed");
    let huge = Builder::new().stack_size(usize::MAX).coroutine(|_: &Suspender<(), ()>, ()| ());
    is_told(huge.unwrap_err(), "cannot create a coroutine");

    let (tx, rx) = bounded::<u32>(1).named("jobs");
    is_told(rx.try_recv().unwrap_err(), "channel 'jobs' has nothing to receive now");
    drop(rx);
    is_told(tx.send(1).unwrap_err(), "channel 'jobs' is closed");

    let mut graph = Graph::deterministic().sequential();
    let (_, input) = graph.channel::<u32>(1);
    graph.node("reads", input, |_, _live| ());
    is_told(
        graph.build().err().unwrap(),
        "from which 'reads' receives: its end to send is given to no node",
    );

    let system = leno::flexible::System::new();
    let once = system.create("once", |_: &mut leno::flexible::Me<(), ()>| ());
    drop(once.call(()));
    is_told(once.call(()).unwrap_err(), "cannot have coroutine 'once', which has terminated");

    let wrong = "(RW".parse::<leno::fibre::control::ControlType>();
    is_told(wrong.unwrap_err(), "at column 4 of `(RW`");
    is_told("12".parse::<leno::session::SessionId>().unwrap_err(), "`12` is no id of a session");
}
