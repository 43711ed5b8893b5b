//! User code that uses the graph which calls it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};

use leno_graph::{Deterministic, Graph, Halt, Inlet, Outlet, Parallel, Run, Sequential, Side, Tap};
use leno_kernel::LocalSystem;

use crate::destructors::{in_a_child, panics};

/// A message that sends another one when it is dropped.
struct Sends(Arc<OnceLock<Inlet<u32, Parallel>>>);

impl Drop for Sends {
    fn drop(&mut self) {
        if let Some(inlet) = self.0.get() {
            inlet.send(1);
        }
    }
}

/// A message that is dropped when a join closes sends into a channel of that join.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn messages_of_a_join_that_closes_may_use_its_channels() {
    in_a_child("reentry::messages_of_a_join_that_closes_may_use_its_channels", || {
        let inlet = Arc::new(OnceLock::new());
        let mut graph = Graph::nondeterministic().parallel(2);
        let (first, a) = graph.channel(4);
        let (second, b) = graph.channel::<u32>(1);
        let (third, c) = graph.channel(4);
        let joined = graph.join((a, b, c));
        let run = graph.build().unwrap();
        let (first, second) = (run.inlet(first), run.inlet(second));
        (0..2).for_each(|_| assert!(first.send(Sends(inlet.clone()))));
        assert!(inlet.set(run.inlet(third)).is_ok());
        second.close();
        assert!(run.outlet(joined).receive().is_none());

        let inlet = Arc::new(OnceLock::new());
        let mut graph = Graph::nondeterministic().parallel(2);
        let (first, a) = graph.channel(4);
        let (second, b) = graph.channel(1);
        let (third, c) = graph.channel(4);
        let list = graph.join(vec![a, b]);
        let either = graph.select(list, c);
        let run = graph.build().unwrap();
        let (first, second) = (run.inlet(first), run.inlet(second));
        (0..2).for_each(|_| assert!(first.send(Sends(inlet.clone()))));
        assert!(inlet.set(run.inlet(third)).is_ok());
        second.close();
        // Both are dropped when the list closes.
        let either = run.outlet(either);
        assert_eq!(either.receive().map(right), Some(1));
        assert_eq!(either.receive().map(right), Some(1));
    });
}

fn right<A, B>(side: Side<A, B>) -> B {
    match side {
        Side::Left(_) => panic!("the left side is closed"),
        Side::Right(message) => message,
    }
}

/// Counts that it was dropped.
struct Counts(Rc<Cell<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A node that drops the graph, after a message, between two or when it is made.
#[test]
fn a_node_that_drops_its_graph_ends_when_it_has_run() {
    macro_rules! drops_its_graph {
        ($graph:expr) => {
            for kind in 0..4 {
                let mut graph = $graph;
                let (tx, rx) = graph.channel(1);
                // Others wait for it.
                let (out, last) = graph.channel(1);
                graph.node("passes on", (rx, out), |cx, (rx, out)| {
                    while let Some(number) = rx.receive(cx) {
                        out.send(cx, number);
                    }
                });
                let slot = Rc::new(RefCell::new(None));
                let own = slot.clone();
                let drops = move || drop(own.borrow_mut().take());
                let dropped = Rc::new(Cell::new(0));
                let held = Counts(dropped.clone());
                match kind {
                    0 => graph.node("drops", tx, move |cx, tx| {
                        let _held = held;
                        tx.send(cx, 1);
                        drops();
                        while tx.send(cx, 2) {}
                    }),
                    1 => graph.stackless("drops", tx, move |cx, tx| async move {
                        let _held = held;
                        tx.send_async(&cx, 1).await;
                        drops();
                        while tx.send_async(&cx, 2).await {}
                    }),
                    2 => graph.stackless("drops", tx, move |cx, tx| {
                        drops();
                        async move {
                            let _held = (held, cx, tx);
                            std::future::pending().await
                        }
                    }),
                    _ => {
                        let numbers = (1..).inspect(move |number| {
                            let _held = &held;
                            if *number == 2 {
                                drops();
                            }
                        });
                        graph.iterate("drops", tx, numbers)
                    }
                };
                let run = graph.build().unwrap();
                let rx = run.outlet(last);
                *slot.borrow_mut() = Some(run);
                let mut last = rx.checked_receive();
                for _ in 0..5 {
                    if last.is_ok() {
                        last = rx.checked_receive();
                    }
                }
                assert_eq!(last, Err(Halt::Dropped), "{kind}");
                assert!(slot.borrow().is_none());
                drop(rx);
                assert_eq!(dropped.get(), 1, "{kind}");
            }
        };
    }
    drops_its_graph!(Graph::deterministic().sequential());
    drops_its_graph!(Graph::nondeterministic().sequential());
}

/// Its cores end by themselves, since none of them can wait for itself.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_node_that_drops_its_parallel_graph_ends_where_it_next_waits() {
    macro_rules! drops_its_graph {
        ($graph:expr) => {
            for kind in 0..3 {
                let mut graph = $graph;
                let (tx, rx) = graph.channel(1);
                let (out, last) = graph.channel(1);
                graph.node("passes on", (rx, out), |cx, (rx, out)| {
                    while let Some(number) = rx.receive(cx) {
                        out.send(cx, number);
                    }
                });
                let slot = Arc::new(Mutex::new(None));
                let own = slot.clone();
                let drops = move || {
                    let run = own.lock().unwrap().take();
                    drop(run);
                };
                let held = Arc::new(());
                let kept = held.clone();
                match kind {
                    0 => graph.node("drops", tx, move |cx, tx| {
                        let _kept = kept;
                        tx.send(cx, 1);
                        drops();
                        while tx.send(cx, 2) {}
                    }),
                    1 => graph.stackless("drops", tx, move |cx, tx| async move {
                        let _kept = kept;
                        tx.send_async(&cx, 1).await;
                        drops();
                        while tx.send_async(&cx, 2).await {}
                    }),
                    _ => {
                        let numbers = (1..).inspect(move |number| {
                            let _kept = &kept;
                            if *number == 2 {
                                drops();
                            }
                        });
                        graph.iterate("drops", tx, numbers)
                    }
                };
                let run = graph.build().unwrap();
                let rx = run.outlet(last);
                *slot.lock().unwrap() = Some(run);
                let halt = loop {
                    match rx.checked_receive() {
                        Ok(Some(_)) => {}
                        other => break other,
                    }
                };
                assert_eq!(halt, Err(Halt::Dropped), "{kind}");
                assert!(slot.lock().unwrap().is_none());
                drop(rx);
                // The one that has dropped it ends where it next waits.
                while Arc::strong_count(&held) > 1 {
                    std::thread::yield_now();
                }
            }
        };
    }
    in_a_child("reentry::a_node_that_drops_its_parallel_graph_ends_where_it_next_waits", || {
        drops_its_graph!(Graph::deterministic().parallel(2));
        drops_its_graph!(Graph::nondeterministic().parallel(2));
    });
}

type Numbers = Outlet<Tap<u32, Sequential>>;

/// Both when the graph runs it, and when its receiver asks it.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn an_iterator_that_receives_from_its_own_channel_is_refused() {
    in_a_child("reentry::an_iterator_that_receives_from_its_own_channel_is_refused", || {
        for is_started in [false, true] {
            let mut graph = Graph::deterministic().sequential();
            let (tx, rx) = graph.channel(1);
            let own: Rc<RefCell<Option<Rc<Numbers>>>> = Rc::default();
            let outlet = own.clone();
            let mut is_first = true;
            let node = graph.iterate(
                "receives",
                tx,
                std::iter::from_fn(move || {
                    let own = outlet.borrow().clone();
                    // The chain asks for the first one.
                    if is_started || !std::mem::replace(&mut is_first, false) {
                        own.unwrap().receive()
                    } else {
                        Some(1)
                    }
                }),
            );
            let run = graph.build().unwrap();
            let rx = Rc::new(run.outlet(rx));
            *own.borrow_mut() = Some(rx.clone());
            if is_started {
                assert!(panics(|| run.start(node)));
            } else {
                assert_eq!(rx.receive(), Some(1));
                assert!(panics(|| rx.receive()));
            }
            let halt = rx.checked_receive();
            assert!(matches!(halt, Err(Halt::Panicked { .. })), "{halt:?}");
            own.borrow_mut().take();
        }
    });
}

/// A message that looks at its graph when it is dropped.
struct Looks(Rc<OneRun>, Rc<Cell<u32>>);

type OneRun = RefCell<Option<Run<Deterministic, Sequential>>>;

impl Drop for Looks {
    fn drop(&mut self) {
        let looks = self.0.borrow().as_ref().map(|run| run.counters().len());
        self.1.set(self.1.get() + looks.unwrap_or(0) as u32);
    }
}

/// The iterator ends its receiver, so what it gives is refused.
#[test]
fn a_message_of_an_iterator_that_is_refused_may_look_at_its_graph() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let (slot, looks) = (Rc::new(RefCell::new(None)), Rc::new(Cell::new(0)));
    let receiver = Rc::new(RefCell::new(None::<Outlet<Tap<Looks, Sequential>>>));
    let (own, run, count) = (receiver.clone(), slot.clone(), looks.clone());
    let node = graph.iterate(
        "ends its receiver",
        tx,
        std::iter::from_fn(move || {
            drop(own.borrow_mut().take());
            Some(Looks(run.clone(), count.clone()))
        }),
    );
    let run = graph.build().unwrap();
    *receiver.borrow_mut() = Some(run.outlet(rx));
    *slot.borrow_mut() = Some(run);
    slot.borrow().as_ref().unwrap().start(node);
    assert_eq!(looks.get(), 1);
    slot.borrow_mut().take();
}

/// A future may not wait; the panic that says so runs the panic hook, which uses the channel.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_send_that_may_not_wait_panics_without_the_channels_lock() {
    in_a_child("reentry::a_send_that_may_not_wait_panics_without_the_channels_lock", || {
        static CLOSED: AtomicUsize = AtomicUsize::new(0);
        let mut graph = Graph::deterministic().parallel(1);
        let (tx, rx) = graph.channel::<u32>(1);
        let run = graph.build().unwrap();
        let (inlet, outlet) = (Arc::new(run.inlet(tx)), run.outlet(rx));
        assert!(inlet.send(1));
        let own = Mutex::new(Some(inlet.clone()));
        std::panic::set_hook(Box::new(move |_| {
            if let Some(inlet) = own.lock().unwrap().take() {
                inlet.close();
                CLOSED.fetch_add(1, SeqCst);
            }
        }));
        let system = LocalSystem::new();
        let sends = system.spawn_future(async move { inlet.send(2) });
        system.run().unwrap();
        assert!(sends.join().is_err());
        assert_eq!(CLOSED.load(SeqCst), 1);
        assert_eq!((outlet.receive(), outlet.receive()), (Some(1), None));
    });
}
