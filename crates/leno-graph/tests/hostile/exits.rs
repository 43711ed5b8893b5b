//! Exits that leave nodes, of coroutines around them and of others, and ends of nodes that have ended: nobody waits for
//! what will not come.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use leno_coroutine::{Coroutine, Suspender};
use leno_graph::{Graph, Halt};
use leno_kernel::{LocalSystem, yield_now};

use crate::nodes::in_all_modes;

/// Runs `body` on a thread of its own; it must end in time.
fn in_time(body: impl FnOnce() + Send + 'static) {
    let (tell, told) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        body();
        drop(tell);
    });
    assert_eq!(
        told.recv_timeout(Duration::from_secs(60)),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
    thread.join().unwrap();
}

/// An exit of another coroutine than those around the calling code.
fn stolen_exit() -> Box<dyn Any + Send> {
    let stolen = Rc::new(Cell::new(None));
    let into = stolen.clone();
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        into.set(catch_unwind(AssertUnwindSafe(|| co.suspend(()))).err());
    });
    coroutine.resume(());
    drop(coroutine);
    stolen.take().expect("it was made to exit")
}

#[test]
fn an_exit_of_another_coroutine_is_a_panic_of_the_node_that_raises_it() {
    in_time(|| {
        for kind in ["stack", "stackless", "iterator"] {
            in_all_modes!(|graph| {
                let (tx, rx) = graph.channel::<u32>(1);
                match kind {
                    "stack" => graph.node("bad", tx, |cx, tx| {
                        tx.send(cx, 1);
                        resume_unwind(stolen_exit());
                    }),
                    "stackless" => graph.stackless("bad", tx, |cx, tx| async move {
                        tx.send_async(&cx, 1).await;
                        resume_unwind(stolen_exit());
                    }),
                    _ => graph.iterate(
                        "bad",
                        tx,
                        (1..).map(|n| if n == 1 { n } else { resume_unwind(stolen_exit()) }),
                    ),
                };
                let run = graph.build().unwrap();
                let outlet = run.outlet(rx);
                assert_eq!(outlet.checked_receive(), Ok(Some(1)), "{kind}");
                for _ in 0..2 {
                    let halt = outlet.checked_receive().unwrap_err();
                    assert_eq!(halt.to_string(), "node 'bad' has panicked", "{kind}");
                }
                // It is raised as it came, once.
                let raised = catch_unwind(AssertUnwindSafe(|| run.finish()));
                assert!(raised.is_err(), "{kind}");
            });
        }
    });
}

/// Runs `body` in a coroutine that is made to exit when it first waits. Returns whether it came to its end.
fn cancelled(body: impl FnOnce() + 'static) -> bool {
    let system = LocalSystem::new();
    let done = Rc::new(Cell::new(false));
    let own = done.clone();
    let one = system.spawn(move || {
        body();
        own.set(true);
    });
    drop(system.spawn(move || one.cancel()));
    system.run().unwrap();
    done.get()
}

macro_rules! sequential {
    (|$graph:ident| $body:block) => {{
        {
            let mut $graph = Graph::deterministic().sequential();
            $body
        }
        {
            let mut $graph = Graph::nondeterministic().sequential();
            $body
        }
    }};
}

/// Adds a node of each kind that waits, so that its coroutine can be made to exit, and then sends.
macro_rules! waits {
    ($graph:ident, $kind:expr, $tx:ident) => {
        match $kind {
            "stack" => $graph.node("waits", $tx, |cx, tx| {
                loop {
                    yield_now();
                    tx.send(cx, 1);
                }
            }),
            "stackless" => $graph.stackless("waits", $tx, |cx, tx| async move {
                loop {
                    yield_now();
                    tx.send_async(&cx, 1).await;
                }
            }),
            _ => $graph.iterate("waits", $tx, std::iter::repeat_with(|| (yield_now(), 1).1)),
        }
    };
}

#[test]
fn a_node_that_an_exit_has_unwound_is_waited_for_no_more() {
    in_time(|| {
        for kind in ["stack", "stackless", "iterator"] {
            sequential!(|graph| {
                let ended = cancelled(move || {
                    let (tx, rx) = graph.channel::<u32>(1);
                    waits!(graph, kind, tx);
                    let run = graph.build().unwrap();
                    let outlet = run.outlet(rx);
                    let first = catch_unwind(AssertUnwindSafe(|| outlet.checked_receive()));
                    assert!(first.is_err(), "{kind}: the exit goes on");
                    assert_eq!(outlet.checked_receive(), Err(Halt::Dropped), "{kind}");
                    assert_eq!(run.finish(), Ok(()), "{kind}");
                });
                assert!(ended, "{kind}");
            });
        }
    });
}

#[test]
fn an_iterator_that_an_exit_has_unwound_while_it_was_asked_by_hand_has_not_panicked() {
    in_time(|| {
        let ended = cancelled(|| {
            let mut graph = Graph::deterministic().sequential();
            let (tx, rx) = graph.channel::<u32>(1);
            // The first ones are asked for by the node itself.
            let waits = |n| {
                if n > 5 {
                    yield_now();
                }
                n
            };
            graph.iterate("waits", tx, (1..).map(waits));
            let run = graph.build().unwrap();
            let outlet = run.outlet(rx);
            let asked = catch_unwind(AssertUnwindSafe(|| while outlet.receive().is_some() {}));
            assert!(asked.is_err(), "the exit goes on");
            assert_eq!(outlet.checked_receive(), Err(Halt::Dropped));
            assert_eq!(run.finish(), Ok(()));
        });
        assert!(ended);
    });
}

#[test]
fn a_node_that_an_exit_has_unwound_cuts_off_those_behind_it() {
    in_time(|| {
        for kind in ["stack", "stackless", "iterator"] {
            sequential!(|graph| {
                let ended = cancelled(move || {
                    let (tx, rx) = graph.channel::<u32>(1);
                    waits!(graph, kind, tx);
                    let (tx, passed) = graph.channel::<u32>(1);
                    let closed = Rc::new(Cell::new(false));
                    let own = closed.clone();
                    graph.node("passes", (rx, tx), move |cx, (rx, tx)| {
                        rx.iter(cx).for_each(|n| _ = tx.send(cx, n));
                        own.set(true);
                    });
                    let run = graph.build().unwrap();
                    let outlet = run.outlet(passed);
                    let first = catch_unwind(AssertUnwindSafe(|| outlet.checked_receive()));
                    assert!(first.is_err(), "{kind}: the exit goes on");
                    assert_eq!(outlet.checked_receive(), Err(Halt::Dropped), "{kind}");
                    assert!(!closed.get(), "{kind}: what there was is not all");
                });
                assert!(ended, "{kind}");
            });
        }
    });
}

#[test]
fn a_destructor_receives_while_an_exit_unwinds_and_ends() {
    in_time(|| {
        sequential!(|graph| {
            let drained = Rc::new(Cell::new(false));
            let own = drained.clone();
            let ended = cancelled(move || {
                struct Drains<F: Fn() -> bool>(F, Rc<Cell<bool>>);
                impl<F: Fn() -> bool> Drop for Drains<F> {
                    fn drop(&mut self) {
                        while (self.0)() {}
                        self.1.set(true);
                    }
                }
                let (tx, rx) = graph.channel::<u32>(1);
                waits!(graph, "stack", tx);
                let run = graph.build().unwrap();
                let outlet = run.outlet(rx);
                let _drains = Drains(|| matches!(outlet.checked_receive(), Ok(Some(_))), own);
                let _never = outlet.checked_receive();
            });
            assert!(!ended && drained.get());
        });
    });
}

#[test]
fn an_end_that_its_node_has_forgotten_is_a_deadlock() {
    in_time(|| {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel::<u32>(1);
            graph.node("forgets", tx, |_, tx| std::mem::forget(tx));
            let run = graph.build().unwrap();
            let halt = run.outlet(rx).checked_receive();
            assert!(matches!(halt, Err(Halt::Deadlock(_))), "{halt:?}");
        });
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel::<u32>(1);
            graph.node("forgets", rx, |_, rx| std::mem::forget(rx));
            let run = graph.build().unwrap();
            let inlet = run.inlet(tx);
            let sent = (0..3).map(|n| inlet.checked_send(n)).find_map(Result::err);
            let halt = sent.expect("there is no room for three");
            assert!(matches!(halt, Halt::Deadlock(_)), "{halt:?}");
        });
    });
}
