//! Panics of user code, destructors above all.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::{Pin, pin};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use leno_graph::{EventLoop, Graph, Halt};

use crate::nodes::{in_all_modes, in_deterministic_modes, range};

/// A payload whose `Drop` panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("a payload panics");
    }
}

/// A message, or a value that a node holds, whose `Drop` panics, and which counts that it was dropped.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        if !std::thread::panicking() {
            panic_any(Payload);
        }
    }
}

/// A value whose `Drop` always panics, also while a stack unwinds: two that are dropped together, and not one
/// after the other, end the process.
pub(crate) struct Always(pub(crate) Arc<AtomicUsize>);

impl Drop for Always {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        panic_any(Payload);
    }
}

/// Runs a test that would end the process, or hang, if it failed, in a process of its own. `test` is its name.
pub(crate) fn in_a_child(test: &str, body: impl FnOnce()) {
    const NAME: &str = "LENO_GRAPH_TEST";
    if std::env::var(NAME).is_ok_and(|name| name == test) {
        return body();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(NAME, test)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Long, for a busy machine.
    for _ in 0..30_000 {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{test}: {status}");
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("{test} hangs");
}

/// Whether it panics. The payload is not dropped.
pub(crate) fn panics<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).map_err(std::mem::forget).is_err()
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn nodes_that_panic_with_payloads_that_panic_end_all_the_same() {
    in_a_child("destructors::nodes_that_panic_with_payloads_that_panic_end_all_the_same", || {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel::<u32>(1);
            let (other_tx, other_rx) = graph.channel::<u32>(1);
            graph.node("first", tx, |_, _| panic_any(Payload));
            graph.stackless("second", other_tx, |_, tx| async move {
                let _tx = tx;
                panic_any(Payload)
            });
            let run = graph.build().unwrap();
            let (rx, other_rx) = (run.outlet(rx), run.outlet(other_rx));
            // The first panic is kept, the second one disposed of.
            assert!(matches!(rx.checked_receive(), Err(Halt::Panicked { .. })));
            assert!(matches!(other_rx.checked_receive(), Err(Halt::Panicked { .. })));
            assert!(panics(|| run.finish()));
            drop((run, rx, other_rx));
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn messages_that_panic_when_they_are_dropped_are_all_dropped() {
    in_a_child("destructors::messages_that_panic_when_they_are_dropped_are_all_dropped", || {
        in_all_modes!(|graph| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let (tx, rx) = graph.channel(4);
            let (done, is_done) = graph.channel(1);
            let sent = dropped.clone();
            graph.node("sends", tx, move |cx, tx| {
                (0..3).for_each(|_| _ = tx.send(cx, Bomb(sent.clone())));
            });
            // Ends by a panic when three messages wait for it: they are dropped with its end.
            graph.node("receives", (rx, done), |cx, (rx, done)| {
                let first = rx.receive(cx);
                std::mem::forget(first);
                done.send(cx, ());
                panic!("a node panics");
            });
            let run = graph.build().unwrap();
            let is_done = run.outlet(is_done);
            assert_eq!(is_done.receive(), Some(()));
            assert!(panics(|| run.finish()));
            let halt = is_done.checked_receive();
            assert!(matches!(halt, Err(Halt::Panicked { .. })), "{halt:?}");
            panics(|| drop((run, is_done)));
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn what_a_node_holds_may_panic_when_it_is_dropped() {
    in_a_child("destructors::what_a_node_holds_may_panic_when_it_is_dropped", || {
        in_all_modes!(|graph| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let (tx, rx) = graph.channel(1);
            let (kept, cut) = graph.channel::<()>(1);
            let held = Bomb(dropped.clone());
            graph.stackless("holds", (tx, kept), move |cx, (tx, kept)| Holds {
                sends: Box::pin(async move { _ = tx.send_async(&cx, 1).await }),
                _held: held,
                _kept: kept,
            });
            let (tx, numbers) = graph.channel(8);
            graph.node("other", tx, range(0, 5));
            let run = graph.build().unwrap();
            let (rx, cut, numbers) = (run.outlet(rx), run.outlet(cut), run.outlet(numbers));
            // One end was dropped before.
            assert_eq!((rx.receive(), rx.receive()), (Some(1), None));
            // It has ended by that panic, and the others have not.
            let halt = cut.checked_receive();
            assert!(matches!(halt, Err(Halt::Panicked { .. })), "{halt:?}");
            assert_eq!(dropped.load(SeqCst), 1);
            let (mut seen, mut checked) = (0, numbers.checked_receive());
            while let Ok(Some(_)) = checked {
                seen += 1;
                checked = numbers.checked_receive();
            }
            assert_eq!(seen, 5);
            assert!(panics(|| run.finish()));
        });
    });
}

/// A future that holds something when it is over.
struct Holds<F, K> {
    sends: Pin<Box<F>>,
    _held: Bomb,
    _kept: K,
}

impl<F: Future<Output = ()>, K: Unpin> Future for Holds<F, K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.sends.as_mut().poll(context)
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_graph_is_dropped_whole_although_its_nodes_panic_meanwhile() {
    in_a_child("destructors::a_graph_is_dropped_whole_although_its_nodes_panic_meanwhile", || {
        in_all_modes!(|graph| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let mut ends = Vec::new();
            for _ in 0..3 {
                let (tx, rx) = graph.channel(1);
                let held = Bomb(dropped.clone());
                graph.node("waits", tx, move |cx, tx| {
                    let _held = held;
                    while tx.send(cx, 1) {}
                });
                ends.push(rx);
            }
            let run = graph.build().unwrap();
            let ends: Vec<_> = ends.into_iter().map(|end| run.outlet(end)).collect();
            ends.iter().for_each(|end| assert_eq!(end.receive(), Some(1)));
            panics(|| drop((run, ends)));
            // Those of other cores end when their turn comes.
            while dropped.load(SeqCst) < 3 {
                std::thread::yield_now();
            }
        });
    });
}

/// Panics when it is woken, and then does what another waker does.
struct Loud(Waker);

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
        panic_any(Payload);
    }
}

/// A sender's message arrives although the waker of the node that waits for it panics.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_waker_that_panics_takes_no_message_with_it() {
    in_a_child("destructors::a_waker_that_panics_takes_no_message_with_it", || {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel(1);
            let (out, numbers) = graph.channel(1);
            graph.node("sends", tx, range(0, 20));
            graph.stackless("loud", (rx, out), |cx, (rx, out)| async move {
                loop {
                    let mut receives = pin!(rx.receive_async(&cx));
                    let received = poll_fn(|context| {
                        let loud = Waker::from(Arc::new(Loud(context.waker().clone())));
                        receives.as_mut().poll(&mut Context::from_waker(&loud))
                    });
                    let Some(number) = received.await else { return };
                    out.send_async(&cx, number).await;
                }
            });
            let run = graph.build().unwrap();
            let numbers = run.outlet(numbers);
            let seen: Vec<_> = std::iter::from_fn(|| numbers.receive()).collect();
            assert_eq!(seen, (0..20).collect::<Vec<_>>());
            run.finish().unwrap();
        });
    });
}

/// Panics when it is dropped, and wakes as another waker does.
struct Brittle(Waker);

impl Wake for Brittle {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl Drop for Brittle {
    fn drop(&mut self) {
        panic_any(Payload);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_waker_that_panics_when_it_is_dropped_takes_no_node_with_it() {
    in_a_child("destructors::a_waker_that_panics_when_it_is_dropped_takes_no_node_with_it", || {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel(1);
            let (out, numbers) = graph.channel(1);
            graph.node("sends", tx, range(0, 20));
            graph.stackless("brittle", (rx, out), |cx, (rx, out)| async move {
                loop {
                    let mut receives = pin!(rx.receive_async(&cx));
                    let received = poll_fn(|context| {
                        let brittle = Arc::new(Brittle(context.waker().clone()));
                        let waker = Waker::from(brittle.clone());
                        let polled = receives.as_mut().poll(&mut Context::from_waker(&waker));
                        drop(waker);
                        // Dropped by the graph, if that has kept it.
                        std::mem::forget(Arc::into_inner(brittle));
                        polled
                    });
                    let Some(number) = received.await else { return };
                    out.send_async(&cx, number).await;
                }
            });
            let run = graph.build().unwrap();
            let numbers = run.outlet(numbers);
            let seen: Vec<_> = std::iter::from_fn(|| numbers.receive()).collect();
            assert_eq!(seen, (0..20).collect::<Vec<_>>());
            run.finish().unwrap();
        });
    });
}

/// Those who wait are told of a deadlock, although messages have panicked that were dropped with an end outside.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn an_end_outside_is_gone_although_its_messages_panic() {
    in_a_child("destructors::an_end_outside_is_gone_although_its_messages_panic", || {
        in_all_modes!(|graph| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let (tx, bombs) = graph.channel(4);
            let (done, is_done) = graph.channel(1);
            let sent = dropped.clone();
            graph.node("sends", (tx, done), move |cx, (tx, done)| {
                (0..2).for_each(|_| _ = tx.send(cx, Always(sent.clone())));
                done.send(cx, ());
            });
            let (to_itself, own) = graph.channel::<()>(1);
            let (out, nothing) = graph.channel::<()>(1);
            graph.node("waits for itself", (to_itself, own, out), |cx, (_to, own, out)| {
                own.receive(cx);
                out.send(cx, ());
            });
            let run = graph.build().unwrap();
            let (bombs, nothing) = (run.outlet(bombs), run.outlet(nothing));
            {
                let is_done = run.outlet(is_done);
                assert_eq!(is_done.receive(), Some(()));
            }
            assert!(panics(|| drop(bombs)));
            assert_eq!(dropped.load(SeqCst), 2);
            let halt = nothing.checked_receive();
            assert!(matches!(halt, Err(Halt::Deadlock(_))), "{halt:?}");
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn what_is_left_of_an_event_loop_is_all_dropped() {
    in_a_child("destructors::what_is_left_of_an_event_loop_is_all_dropped", || {
        let (events, dropped) = (EventLoop::new(), Arc::new(AtomicUsize::new(0)));
        let held = || {
            let always = Always(dropped.clone());
            move || drop(always)
        };
        (0..2).for_each(|_| events.task(held()));
        (0..2).for_each(|_| events.microtask(held()));
        (0..2).for_each(|_| events.delay(Duration::from_secs(1000), held()));
        assert!(panics(|| drop(events)));
        assert_eq!(dropped.load(SeqCst), 6);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn nodes_of_a_graph_that_is_not_built_are_all_dropped() {
    in_a_child("destructors::nodes_of_a_graph_that_is_not_built_are_all_dropped", || {
        in_all_modes!(|graph| {
            let dropped = Arc::new(AtomicUsize::new(0));
            for _ in 0..2 {
                let (tx, _) = graph.channel::<()>(1);
                let always = Always(dropped.clone());
                graph.node("never runs", tx, move |_, _| drop(always));
            }
            assert!(panics(|| drop(graph)));
            assert_eq!(dropped.load(SeqCst), 2);
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn iterators_of_a_graph_are_all_dropped() {
    in_a_child("destructors::iterators_of_a_graph_are_all_dropped", || {
        let mut graph = Graph::deterministic().sequential();
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut ends = Vec::new();
        for _ in 0..2 {
            let (tx, rx) = graph.channel(1);
            let always = Always(dropped.clone());
            let numbers = (0..).inspect(move |_| _ = &always);
            graph.iterate("counts", tx, numbers);
            ends.push(rx);
        }
        let run = graph.build().unwrap();
        let ends: Vec<_> = ends.into_iter().map(|end| run.outlet(end)).collect();
        ends.iter().for_each(|end| assert_eq!((end.receive(), end.receive()), (Some(0), Some(1))));
        drop(ends);
        assert!(panics(|| drop(run)));
        assert_eq!(dropped.load(SeqCst), 2);
    });
}

/// Its node is cut off, since the receiver has panicked; the message panics, too.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_message_that_nobody_receives_is_dropped_before_its_node_unwinds() {
    in_a_child(
        "destructors::a_message_that_nobody_receives_is_dropped_before_its_node_unwinds",
        || {
            for is_stackless in [false, true] {
                in_all_modes!(|graph| {
                    let dropped = Arc::new(AtomicUsize::new(0));
                    let (tx, rx) = graph.channel(1);
                    let (done, is_done) = graph.channel(1);
                    graph.node("panics", rx, |_, _| panic!("a node panics"));
                    if is_stackless {
                        graph.stackless("sends", (tx, done), move |cx, (tx, done)| async move {
                            done.send_async(&cx, ()).await;
                            while tx.send_async(&cx, Always(dropped.clone())).await {}
                        });
                    } else {
                        graph.node("sends", (tx, done), move |cx, (tx, done)| {
                            done.send(cx, ());
                            while tx.send(cx, Always(dropped.clone())) {}
                        });
                    }
                    let run = graph.build().unwrap();
                    let is_done = run.outlet(is_done);
                    assert_eq!(is_done.receive(), Some(()));
                    assert!(panics(|| run.finish()));
                    let halt = is_done.checked_receive();
                    assert!(matches!(halt, Err(Halt::Panicked { .. })), "{halt:?}");
                });
            }
        },
    );
}

/// What it has received of the others has nothing to go with.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_join_that_closes_drops_one_message_after_the_other() {
    in_a_child("destructors::a_join_that_closes_drops_one_message_after_the_other", || {
        in_deterministic_modes!(|graph| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let mut ends = Vec::new();
            for count in [1, 1, 0] {
                let (tx, rx) = graph.channel(1);
                let sent = dropped.clone();
                graph.node("sends", tx, move |cx, tx| {
                    (0..count).for_each(|_| _ = tx.send(cx, Always(sent.clone())));
                });
                ends.push(rx);
            }
            let joined = graph.join(ends);
            let run = graph.build().unwrap();
            let joined = run.outlet(joined);
            assert!(panics(|| joined.receive()));
            assert_eq!(dropped.load(SeqCst), 2);
            assert!(joined.receive().is_none());
        });
        in_deterministic_modes!(|graph| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let mut send = |count| {
                let (tx, rx) = graph.channel(1);
                let sent = dropped.clone();
                graph.node("sends", tx, move |cx, tx| {
                    (0..count).for_each(|_| _ = tx.send(cx, Always(sent.clone())));
                });
                rx
            };
            let ends = (send(1), send(1), send(0));
            let joined = graph.join(ends);
            let run = graph.build().unwrap();
            let joined = run.outlet(joined);
            assert!(panics(|| joined.receive()));
            assert_eq!(dropped.load(SeqCst), 2);
        });
    });
}

/// It drops its end with messages in it while it unwinds, catches that, and awaits something that is none of the
/// graph's: then the messages are dropped.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn messages_that_a_future_has_abandoned_fail_its_node_if_they_panic() {
    in_a_child(
        "destructors::messages_that_a_future_has_abandoned_fail_its_node_if_they_panic",
        || {
            in_all_modes!(|graph| {
                let dropped = Arc::new(AtomicUsize::new(0));
                let (tx, rx) = graph.channel(4);
                let (done, is_done) = graph.channel(1);
                let (out, ends) = graph.channel::<()>(1);
                let sent = dropped.clone();
                graph.node("sends", (tx, done), move |cx, (tx, done)| {
                    (0..2).for_each(|_| _ = tx.send(cx, Bomb(sent.clone())));
                    done.send(cx, ());
                });
                graph.stackless(
                    "abandons",
                    (rx, is_done, out),
                    |cx, (rx, is_done, out)| async move {
                        let _out = out;
                        is_done.receive_async(&cx).await;
                        assert!(panics(move || {
                            let _rx = rx;
                            panic!("it is caught");
                        }));
                        let mut has_waited = false;
                        let awaits = poll_fn(|context| {
                            context.waker().wake_by_ref();
                            if std::mem::replace(&mut has_waited, true) {
                                Poll::Ready(())
                            } else {
                                Poll::Pending
                            }
                        });
                        awaits.await;
                    },
                );
                let run = graph.build().unwrap();
                let ends = run.outlet(ends);
                let _ended = ends.checked_receive();
                assert_eq!(dropped.load(SeqCst), 2);
                assert!(panics(|| run.finish()));
            });
        },
    );
}

/// A waker of a node that has ended wakes nobody.
#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn wakers_that_are_forgotten_keep_no_graph_from_its_end() {
    in_a_child("destructors::wakers_that_are_forgotten_keep_no_graph_from_its_end", || {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel(1);
            graph.stackless("forgets", tx, |cx, tx| async move {
                poll_fn(|context| {
                    (0..2).for_each(|_| std::mem::forget(context.waker().clone()));
                    Poll::Ready(())
                })
                .await;
                tx.send_async(&cx, 1).await;
            });
            let run = graph.build().unwrap();
            let rx = run.outlet(rx);
            assert_eq!((rx.receive(), rx.receive()), (Some(1), None));
            run.finish().unwrap();
        });
    });
}
