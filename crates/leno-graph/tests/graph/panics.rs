//! A node that panics: nobody takes what there was for all, in any mode, and nothing hangs.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};

use leno_graph::{Graph, Halt, Temperature};
use leno_kernel::Budget;

use crate::nodes::{collect, in_all_modes, in_other_modes, map, range};

/// What is not text, and so can only come from the node itself.
#[derive(Debug, PartialEq)]
struct Boom(u32);

fn boom() -> ! {
    resume_unwind(Box::new(Boom(7)))
}

/// Counts that it was dropped.
struct Says(Arc<AtomicUsize>);

impl Drop for Says {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn caught<R>(f: impl FnOnce() -> R) -> Box<dyn std::any::Any + Send> {
    catch_unwind(AssertUnwindSafe(f)).err().expect("it panics")
}

/// A node of each kind that sends `0..after` and panics.
macro_rules! bad {
    ($graph:ident, $kind:expr, $tx:ident, $says:expr, $after:expr) => {{
        let (says, after): (Says, i32) = ($says, $after);
        match $kind {
            "stack" => $graph.node("bad", $tx, move |cx, tx| {
                let _says = says;
                (0..after).for_each(|n| _ = tx.send(cx, n));
                boom()
            }),
            "stackless" => $graph.stackless("bad", $tx, move |cx, tx| async move {
                let _says = says;
                for n in 0..after {
                    tx.send_async(&cx, n).await;
                }
                boom()
            }),
            _ => $graph.iterate(
                "bad",
                $tx,
                (0..).map(move |n| {
                    let _says = &says;
                    if n < after { n } else { boom() }
                }),
            ),
        }
    }};
}

const KINDS: [&str; 3] = ["stack", "stackless", "iterator"];

#[test]
fn who_receives_gets_what_was_sent_before_and_then_the_panic() {
    for kind in KINDS {
        for (after, room) in [(0, 1), (1, 1), (3, 1), (3, 8)] {
            in_all_modes!(|graph| {
                let dropped = Arc::new(AtomicUsize::new(0));
                let (tx, rx) = graph.channel(room);
                let node = bad!(graph, kind, tx, Says(dropped.clone()), after);
                let run = graph.build().unwrap();
                let rx = run.outlet(rx);
                for n in 0..after {
                    assert_eq!(rx.receive(), Some(n), "{kind} {after}");
                }
                assert_eq!(caught(|| rx.receive()).downcast_ref(), Some(&Boom(7)));
                // An iterator is dropped with its channel.
                assert!(dropped.load(SeqCst) == 1 || kind == "iterator");
                assert_eq!(run.temperature(node), Temperature::Ended);
                // The payload is gone; the panic is not.
                let text = "node 'bad' has panicked";
                assert_eq!(caught(|| rx.receive()).downcast_ref(), Some(&text.to_owned()));
                assert_eq!(caught(|| run.finish()).downcast_ref(), Some(&text.to_owned()));
                let (node, message) = ("bad".to_owned(), String::new());
                assert_eq!(rx.checked_receive(), Err(Halt::Panicked { node, message }));
                drop((run, rx));
                assert_eq!(dropped.load(SeqCst), 1);
            });
        }
    }
}

#[test]
fn a_checked_receive_leaves_the_panic_to_finish() {
    for kind in KINDS {
        for after in [0, 1, 3] {
            in_all_modes!(|graph| {
                let dropped = Arc::new(AtomicUsize::new(0));
                let (tx, rx) = graph.channel(1);
                bad!(graph, kind, tx, Says(dropped.clone()), after);
                let run = graph.build().unwrap();
                let rx = run.outlet(rx);
                for n in 0..after {
                    assert_eq!(rx.checked_receive(), Ok(Some(n)));
                }
                let halt = rx.checked_receive().unwrap_err();
                assert_eq!(halt.to_string(), "node 'bad' has panicked");
                assert_eq!(caught(|| run.finish()).downcast_ref(), Some(&Boom(7)));
                drop((run, rx));
                assert_eq!(dropped.load(SeqCst), 1);
            });
        }
    }
}

#[test]
fn finish_panics_as_the_node_did_after_the_others_have_ended() {
    for kind in KINDS {
        for after in [0, 1, 3] {
            in_all_modes!(|graph| {
                let dropped = Arc::new(AtomicUsize::new(0));
                let (tx, rx) = graph.channel(8);
                let node = bad!(graph, kind, tx, Says(dropped.clone()), after);
                let (tx, numbers) = graph.channel(8);
                let other = graph.node("other", tx, range(0, 5));
                let run = graph.build().unwrap();
                // In a chain `start` runs it, and gets the panic first.
                let first = catch_unwind(AssertUnwindSafe(|| run.start(node))).err();
                let started = catch_unwind(AssertUnwindSafe(|| run.start(other))).err();
                let payload = first.unwrap_or_else(|| caught(|| run.finish()));
                assert_eq!(payload.downcast_ref(), Some(&Boom(7)), "{kind} {after}");
                caught(|| run.finish());
                drop(started);
                assert_eq!(run.temperature(node), Temperature::Ended);
                assert_eq!(run.temperature(other), Temperature::Ended);
                // What was sent is there; a stream that is whole ends as one.
                let (rx, numbers) = (run.outlet(rx), run.outlet(numbers));
                (0..after).for_each(|n| assert_eq!(rx.receive(), Some(n)));
                caught(|| rx.receive());
                (0..5).for_each(|n| assert_eq!(numbers.receive(), Some(n)));
                assert_eq!(numbers.receive(), None);
                drop((run, rx));
                assert_eq!(dropped.load(SeqCst), 1);
            });
        }
    }
}

#[test]
fn dropping_a_graph_one_of_whose_nodes_has_panicked_panics_not() {
    for kind in KINDS {
        for after in [0, 2] {
            in_all_modes!(|graph| {
                let dropped = Arc::new(AtomicUsize::new(0));
                let (tx, rx) = graph.channel(1);
                bad!(graph, kind, tx, Says(dropped.clone()), after);
                let (tx, lists) = graph.channel(1);
                let says = Says(dropped.clone());
                graph.node("collect", (rx, tx), move |cx, ends| {
                    let _says = says;
                    collect(cx, ends);
                });
                let run = graph.build().unwrap();
                let lists = run.outlet(lists);
                // Also while the one outside unwinds, and its destructors receive.
                struct Again<F: FnMut()>(F);
                impl<F: FnMut()> Drop for Again<F> {
                    fn drop(&mut self) {
                        (self.0)();
                    }
                }
                let payload = caught(|| {
                    let _again = Again(|| assert!(lists.receive().is_none()));
                    lists.receive()
                });
                assert_eq!(payload.downcast_ref(), Some(&Boom(7)));
                drop(lists);
                drop(run);
                assert_eq!(dropped.load(SeqCst), 2, "{kind} {after}");
            });
        }
    }
}

#[test]
fn a_node_that_would_sum_up_is_cut_off_before_it_does() {
    for kind in KINDS {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel(1);
            bad!(graph, kind, tx, Says(Arc::default()), 3);
            let (tx, middle) = graph.channel(2);
            graph.stackless("half", (rx, tx), |cx, (rx, tx)| async move {
                let mut sum = 0;
                while let Some(n) = rx.receive_async(&cx).await {
                    sum += n;
                }
                tx.send_async(&cx, sum).await;
            });
            let (tx, lists) = graph.channel(1);
            graph.node("collect", (middle, tx), collect);
            let run = graph.build().unwrap();
            let payload = caught(|| run.outlet(lists).collect::<Vec<_>>());
            assert_eq!(payload.downcast_ref(), Some(&Boom(7)), "{kind}");
        });
    }
}

#[test]
fn who_sends_to_one_that_panicked_is_cut_off_too() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("bad", rx, |cx, rx| {
            rx.receive(cx);
            boom()
        });
        let (out, copies) = graph.channel(64);
        graph.node("both", (tx, out), |cx, (tx, out)| {
            for n in 0..100 {
                out.send(cx, n);
                if !tx.send(cx, n) {
                    break;
                }
            }
        });
        let run = graph.build().unwrap();
        assert_eq!(caught(|| run.outlet(copies).count()).downcast_ref(), Some(&Boom(7)));
    });
}

#[test]
fn a_join_is_cut_with_one_of_its_parts() {
    for is_outside in [true, false] {
        in_all_modes!(|graph| {
            let (tx, left) = graph.channel(1);
            graph.node("whole", tx, range(0, 100));
            let (tx, right) = graph.channel(1);
            bad!(graph, "stack", tx, Says(Arc::default()), 3);
            let pairs = graph.join((left, right));
            let first_pairs = [(0, 0), (1, 1), (2, 2)].map(Some);
            if is_outside {
                let run = graph.build().unwrap();
                let pairs = run.outlet(pairs);
                assert_eq!([pairs.receive(), pairs.receive(), pairs.receive()], first_pairs);
                assert_eq!(caught(|| pairs.receive()).downcast_ref(), Some(&Boom(7)));
                continue;
            }
            let (tx, copies) = graph.channel(1);
            graph.node("copy", (pairs, tx), map(|pair: (i32, i32)| pair));
            let run = graph.build().unwrap();
            let pairs = run.outlet(copies);
            assert_eq!([pairs.receive(), pairs.receive(), pairs.receive()], first_pairs);
            assert_eq!(caught(|| pairs.receive()).downcast_ref(), Some(&Boom(7)));
        });
    }
}

#[test]
fn who_sends_from_outside_gets_the_panic_too() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel::<i32>(1);
        graph.node("bad", rx, |cx, rx| {
            rx.receive(cx);
            panic!("one is enough");
        });
        let run = graph.build().unwrap();
        let tx = run.inlet(tx);
        let halt = (0..).find_map(|n| tx.checked_send(n).err()).unwrap();
        assert_eq!(halt.to_string(), "node 'bad' has panicked: one is enough");
        assert_eq!(caught(|| tx.send(9)).downcast_ref(), Some(&"one is enough"));
    });
}

#[test]
fn a_select_goes_on_without_the_one_that_panicked_but_does_not_end_well() {
    in_other_modes!(|graph| {
        let (tx, left) = graph.channel(1);
        graph.node("whole", tx, range(0, 20));
        let (tx, right) = graph.channel(1);
        bad!(graph, "stack", tx, Says(Arc::default()), 1);
        let both = graph.select(left, right);
        let run = graph.build().unwrap();
        let both = run.outlet(both);
        (0..21).for_each(|_| assert!(both.receive().is_some()));
        assert_eq!(caught(|| both.receive()).downcast_ref(), Some(&Boom(7)));
    });
}

#[test]
fn a_panic_that_its_body_catches_is_none_of_the_graphs() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("careful", tx, |cx, tx| {
            let sends = move || {
                tx.send(cx, 1);
                boom()
            };
            caught(sends);
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [1]);
        run.finish().unwrap();
    });
}

#[test]
fn a_node_that_is_preempted_hands_on_its_panic() {
    for after in [0, 3] {
        let mut graph = Graph::deterministic().parallel(1).quantum(Budget::units(2));
        let (tx, rx) = graph.channel(1);
        bad!(graph, "stack", tx, Says(Arc::default()), after);
        let run = graph.build().unwrap();
        let rx = run.outlet(rx);
        (0..after).for_each(|n| assert_eq!(rx.receive(), Some(n)));
        assert_eq!(caught(|| rx.receive()).downcast_ref(), Some(&Boom(7)));
    }
}

#[test]
fn a_future_that_is_not_made_has_panicked() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel::<i32>(1);
        graph.stackless("bad", tx, |_, _tx| {
            if std::hint::black_box(true) {
                boom();
            }
            async {}
        });
        let run = graph.build().unwrap();
        assert_eq!(caught(|| run.outlet(rx).receive()).downcast_ref(), Some(&Boom(7)));
    });
}

#[test]
fn an_outlet_of_a_graph_that_was_dropped_says_so() {
    for kind in KINDS {
        for taken in [0, 2] {
            in_all_modes!(|graph| {
                let (tx, rx) = graph.channel(1);
                match kind {
                    "stack" => graph.node("endless", tx, |cx, tx| while tx.send(cx, 1) {}),
                    "stackless" => graph.stackless("endless", tx, |cx, tx| async move {
                        while tx.send_async(&cx, 1).await {}
                    }),
                    _ => graph.iterate("endless", tx, std::iter::repeat(1)),
                };
                let run = graph.build().unwrap();
                let rx = run.outlet(rx);
                (0..taken).for_each(|_| assert_eq!(rx.receive(), Some(1)));
                drop(run);
                let halt = std::iter::repeat_with(|| rx.checked_receive()).find_map(Result::err);
                assert_eq!(halt, Some(Halt::Dropped));
                let payload = caught(|| rx.receive());
                let text = payload.downcast_ref::<String>().unwrap();
                assert!(text.starts_with("the graph was dropped"), "{text}");
            });
        }
    }
    // What had ended before is whole.
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(8);
        graph.node("three", tx, range(0, 3));
        let run = graph.build().unwrap();
        let rx = run.outlet(rx);
        assert_eq!(rx.receive(), Some(0));
        run.finish().unwrap();
        drop(run);
        assert_eq!(rx.collect::<Vec<_>>(), [1, 2]);
    });
}

#[test]
fn a_node_that_has_caught_a_panic_and_waits_for_its_consumer_gets_its_answer() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (back, sums) = graph.channel(1);
        graph.node("sum", (rx, back), |cx, (rx, back)| {
            let sum = rx.iter(cx).sum::<i32>();
            back.send(cx, sum);
        });
        let (out, told) = graph.channel(1);
        graph.node("careful", (tx, sums, out), |cx, (tx, sums, out)| {
            caught(move || {
                tx.send(cx, 1);
                boom()
            });
            out.send(cx, sums.receive(cx));
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(told).checked_receive(), Ok(Some(Some(1))));
        run.finish().unwrap();
    });
}

#[test]
fn a_future_that_has_caught_a_panic_and_waits_for_its_consumer_gets_its_answer() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (back, sums) = graph.channel(1);
        graph.stackless("sum", (rx, back), |cx, (rx, back)| async move {
            let mut sum = 0;
            while let Some(n) = rx.receive_async(&cx).await {
                sum += n;
            }
            back.send_async(&cx, sum).await;
        });
        let (out, told) = graph.channel(1);
        graph.stackless("careful", (tx, sums, out), |cx, (tx, sums, out)| async move {
            tx.send_async(&cx, 1).await;
            caught(move || {
                let _tx = tx;
                boom()
            });
            let sum = sums.receive_async(&cx).await;
            out.send_async(&cx, sum).await;
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(told).checked_receive(), Ok(Some(Some(1))));
        run.finish().unwrap();
    });
}

#[test]
fn a_node_that_has_caught_a_panic_and_waits_for_its_producer_sees_it_go_on() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (back, counts) = graph.channel(1);
        graph.node("sends", (tx, back), |cx, (tx, back)| {
            let sent = (0..).take_while(|n| tx.send(cx, *n)).count();
            back.send(cx, sent > 0);
        });
        let (out, told) = graph.channel(1);
        graph.node("careful", (rx, counts, out), |cx, (rx, counts, out)| {
            caught(move || {
                assert_eq!(rx.receive(cx), Some(0));
                boom()
            });
            out.send(cx, counts.receive(cx));
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(told).checked_receive(), Ok(Some(Some(true))));
        run.finish().unwrap();
    });
}

#[test]
fn a_caught_panic_closes_no_end_of_another_sender_of_its_channel() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (other, answers) = graph.channel(1);
        graph.node("whole", (tx.clone(), answers), |cx, (tx, answers)| {
            assert_eq!(answers.receive(cx), Some(()));
            tx.send(cx, 2);
        });
        graph.node("careful", (tx, other), |cx, (tx, other)| {
            caught(move || {
                tx.send(cx, 1);
                boom()
            });
            other.send(cx, ());
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [1, 2]);
        run.finish().unwrap();
    });
}

/// A future that panics when it is polled, and calls a function when it is dropped.
struct Falls<F: FnMut()>(F);

impl<F: FnMut() + Unpin> Future for Falls<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        boom()
    }
}

impl<F: FnMut()> Drop for Falls<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn while_what_a_panicked_node_holds_is_dropped_the_ends_of_others_close() {
    let mut graph = Graph::deterministic().parallel(2);
    let (falls, falling) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel::<()>();
    let bad = graph.stackless("bad", (), move |_, ()| {
        Falls(move || {
            falls.send(()).unwrap();
            goes_on.recv().unwrap();
        })
    });
    let (tx, rx) = graph.channel(2);
    let (back, sums) = graph.channel(1);
    graph.node("sum", (rx, back), |cx, (rx, back)| {
        let sum = rx.iter(cx).sum::<i32>();
        back.send(cx, sum);
    });
    // Its end is closed by the test itself, for a core that drops for long runs nobody else.
    let (give, given) = mpsc::channel();
    let (out, told) = graph.channel(1);
    graph.node("other", (tx, sums, out), move |cx, (tx, sums, out)| {
        tx.send(cx, 1);
        tx.send(cx, 2);
        out.send(cx, None);
        give.send(tx).unwrap();
        out.send(cx, sums.receive(cx));
    });
    let run = graph.build().unwrap();
    let told = run.outlet(told);
    assert_eq!(told.checked_receive(), Ok(Some(None)));
    let tx = given.recv().unwrap();
    run.start(bad);
    falling.recv().unwrap();
    assert!(tx.close());
    drop(tx);
    go_on.send(()).unwrap();
    assert_eq!(told.checked_receive(), Ok(Some(Some(3))));
    assert_eq!(told.checked_receive(), Ok(None));
    assert_eq!(caught(|| run.finish()).downcast_ref(), Some(&Boom(7)));
}

#[test]
fn an_outlet_on_which_a_panic_has_no_bearing_ends_well() {
    for kind in KINDS {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel(1);
            bad!(graph, kind, tx, Says(Arc::default()), 1);
            let (tx, numbers) = graph.channel(1);
            graph.node("other", tx, range(0, 5));
            let run = graph.build().unwrap();
            let (rx, numbers) = (run.outlet(rx), run.outlet(numbers));
            assert_eq!(rx.checked_receive(), Ok(Some(0)));
            assert!(matches!(rx.checked_receive(), Err(Halt::Panicked { .. })), "{kind}");
            (0..5).for_each(|n| assert_eq!(numbers.receive(), Some(n)));
            assert_eq!(numbers.receive(), None);
            assert_eq!(numbers.checked_receive(), Ok(None));
            assert_eq!(caught(|| run.finish()).downcast_ref(), Some(&Boom(7)));
        });
    }
}
