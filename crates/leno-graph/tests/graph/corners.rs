//! What is seldom: errors by their words, ends in arrays and options, waits that are in vain, nodes that
//! send while they unwind.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use leno_graph::{
    BuildError, EventLoop, Graph, NodeCx, Receiver, SendFuture, Sender, Sequential, Source,
    Temperature,
};

use crate::nodes::{in_all_modes, in_deterministic_modes, in_other_modes, range};

#[test]
fn p10_each_error_names_the_rule_and_who_breaks_it() {
    let mut graph = Graph::deterministic().sequential();
    let wire = graph.wire::<i32>("one", 1);
    let out = graph.output(&wire);
    graph.iterate("numbers", out, 0..3);
    for name in ["left", "right"] {
        let input = graph.input(&wire);
        graph.node(name, input, |_, _| {});
    }
    let error = graph.guarantees().err().unwrap();
    assert!(error.to_string().contains("'one' has multiple receivers: 'left' and 'right'"));
    let mut outer = Graph::nondeterministic().sequential();
    assert_eq!(outer.embed(graph), Err(error));

    let mut other = Graph::deterministic().sequential();
    let (_tx, foreign) = other.named::<i32>("theirs", 1);
    let mut graph = Graph::deterministic().sequential();
    graph.node("mine", foreign, |_, _| {});
    let error = graph.build().err().unwrap();
    assert!(error.to_string().contains("'mine' was given an end of channel 'theirs' of another"));
    let (_tx, foreign) = other.named::<i32>("theirs too", 1);
    let mut graph = Graph::deterministic().sequential();
    let (_tx, own) = graph.named::<i32>("own", 1);
    let _pairs = graph.join((own, foreign));
    let error = graph.build().err().unwrap().to_string();
    assert!(error.contains("'a join or select' was given an end of channel 'own', 'theirs too'"));
}

#[test]
fn a_graph_without_a_system_has_no_cores_here() {
    let mut graph = Graph::deterministic().parallel_here();
    let (tx, rx) = graph.channel(1);
    graph.node("range", tx, range(0, 3));
    let error = graph.build().err().unwrap();
    assert!(matches!(error, BuildError::Cores(_)), "{error}");
    assert!(error.to_string().starts_with("no cores for a parallel graph: "));
    drop(rx);
    let mut graph = Graph::deterministic().parallel_here();
    let (tx, rx) = graph.channel(1);
    graph.stackless("one", tx, |cx, tx| async move { _ = tx.send_async(&cx, 1).await });
    assert!(matches!(graph.build(), Err(BuildError::Cores(_))));
    drop(rx);
    let system = leno_kernel::System::builder().cores(1).build().unwrap();
    let sum = system.spawn(|| {
        let mut graph = Graph::deterministic().parallel_here();
        let (tx, rx) = graph.channel(1);
        graph.stackless("one", tx, |cx, tx| async move { _ = tx.send_async(&cx, 1).await });
        let run = graph.build().unwrap();
        assert_eq!(run.cores(), None);
        run.outlet(rx).sum::<i32>()
    });
    assert_eq!(sum.join().unwrap(), 1);
}

#[test]
#[should_panic(expected = "node 'range' has other ends than these rates are for")]
fn p59_rates_are_for_the_ends_that_a_node_has() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, _rx) = graph.channel(1);
    let node = graph.node("range", tx, range(0, 3));
    graph.rates(node, &[1], &[1]);
}

#[test]
fn p3_a_node_is_given_ends_in_arrays_and_options() {
    in_all_modes!(|graph| {
        let pairs: Vec<_> = (0..2).map(|_| graph.channel::<i32>(1)).collect();
        let [(a, left), (b, right)] = <[_; 2]>::try_from(pairs).ok().unwrap();
        assert!(a.name().starts_with('#'));
        graph.node("both", [a, b], |cx, ends| {
            for i in 0..3 {
                ends.iter().for_each(|end| _ = end.send(cx, i));
            }
        });
        let (tx, sums) = graph.channel(1);
        let none = Some(tx).filter(|_| true);
        let pairs = graph.join((left, right));
        graph.node("sum", (pairs, none), |cx, (pairs, tx)| {
            let tx = tx.expect("it was given one");
            pairs.iter(cx).for_each(|(a, b)| _ = tx.send(cx, a + b));
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(sums).collect::<Vec<_>>(), [0, 2, 4]);
    });
}

#[test]
fn p28_joins_of_three_of_four_and_of_lists_roll_back() {
    in_other_modes!(|graph| {
        let (late, last) = graph.channel(1);
        let mut ranges = || {
            let (tx, rx) = graph.channel(1);
            graph.node("range", tx, range(0, 3));
            rx
        };
        let three = (ranges(), ranges(), ranges());
        let four = (ranges(), ranges(), ranges(), ranges());
        let list = vec![ranges(), ranges()];
        let (three, four, list) = (graph.join(three), graph.join(four), graph.join(list));
        let most = graph.join((three, four));
        let more = graph.join((most, list));
        let all = graph.join((more, last));
        graph.free_node("late", late, |cx, late| {
            for i in 0..3 {
                cx.sleep(std::time::Duration::from_millis(2));
                late.send(cx, i);
            }
        });
        let run = graph.build().unwrap();
        let expected: Vec<_> =
            (0..3).map(|i| ((((i, i, i), (i, i, i, i)), vec![i, i]), i)).collect();
        assert_eq!(run.outlet(all).collect::<Vec<_>>(), expected);
    });
}

#[test]
fn p48_a_future_receives_from_a_join_of_futures() {
    in_deterministic_modes!(|graph| {
        let mut futures = || {
            let (tx, rx) = graph.channel(1);
            graph.stackless("range", tx, |cx, tx| {
                let cx = cx.clone();
                async move {
                    for i in 0..3 {
                        tx.send_async(&cx, i).await;
                    }
                }
            });
            rx
        };
        let (pair, list) = ((futures(), futures()), vec![futures(), futures()]);
        let (pair, list) = (graph.join(pair), graph.join(list));
        let both = graph.join((list, pair));
        let (tx, sums) = graph.channel(1);
        graph.stackless("sum", (both, tx), |cx, (both, tx)| async move {
            while let Some((list, (a, b))) = both.receive_async(&cx).await {
                tx.send_async(&cx, list.iter().sum::<i32>() + a + b).await;
            }
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(sums).collect::<Vec<_>>(), [0, 4, 8]);
    });
}

#[test]
fn p47_a_send_that_waits_keeps_its_number() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, done) = graph.channel(1);
        graph.stackless("sender", (tx, out), |cx, (tx, out)| async move {
            assert!(tx.send_async(&cx, 1).await);
            let mut second = tx.send_async(&cx, 2);
            let is_pending = |send: &mut SendFuture<'_, i32, _>| {
                Pin::new(send).poll(&mut Context::from_waker(Waker::noop())).is_pending()
            };
            assert!(is_pending(&mut second));
            let status = second.status();
            assert!(is_pending(&mut second));
            assert_eq!(second.status(), status);
            assert_eq!(format!("{second:?}"), format!("SendFuture({status:?})"));
            drop(second);
            out.send_async(&cx, ()).await;
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(done).receive(), Some(()));
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [1]);
    });
}

#[test]
fn p46_a_future_ends_while_it_is_asked_from_outside() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let node = graph.stackless("range", tx, |cx, tx| async move {
            for i in 0..3 {
                tx.send_async(&cx, i).await;
            }
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [0, 1, 2]);
        run.finish().unwrap();
        assert_eq!(run.temperature(node), Temperature::Ended);
    });
}

fn forward<X: Source<Item = i32>>(
    cx: &NodeCx<'_, X::S>,
    (rx, tx): (Receiver<X>, Sender<i32, X::S>),
) {
    rx.iter(cx).for_each(|i| _ = tx.send(cx, i) && tx.send(cx, i));
}

#[test]
fn p57_who_sends_from_outside_in_vain_is_told() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.named("in", 1);
        let (out, last) = graph.named("out", 1);
        graph.node("forward", (rx, out), forward);
        let run = graph.build().unwrap();
        let (tx, last) = (run.inlet(tx), run.outlet(last));
        assert_eq!(tx.checked_send(1), Ok(true));
        // Nobody receives: it fills up, unless someone outside could still receive.
        drop(last);
        assert_eq!(tx.checked_send(2).ok(), Some(true));
        tx.close();
        assert_eq!(tx.checked_send(3), Ok(false));
    });
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.named("in", 1);
    let (out, last) = graph.named("out", 1);
    graph.node("forward", (rx, out), forward);
    let run = graph.build().unwrap();
    let (tx, last) = (run.inlet(tx), run.outlet(last));
    assert!(tx.send(1) && tx.send(2));
    let deadlock = tx.checked_send(3).unwrap_err().to_string();
    assert!(deadlock.contains("'forward' waits to send into channel 'out'"), "{deadlock}");
    let payload = catch_unwind(AssertUnwindSafe(|| tx.send(4))).unwrap_err();
    assert!(payload.downcast_ref::<String>().unwrap().starts_with("deadlock: 'outside' waits"));
    assert_eq!(last.take(3).collect::<Vec<_>>(), [1, 1, 2]);
}

#[test]
fn p57_who_receives_from_outside_in_vain_is_told() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.named::<i32>("in", 1);
        let (out, last) = graph.named("out", 1);
        let node = graph.node("forward", (rx, out), forward);
        let run = graph.build().unwrap();
        run.start(node);
        let (tx, last) = (run.inlet(tx), run.outlet(last));
        let deadlock = run.finish().unwrap_err().to_string();
        assert!(deadlock.contains("'forward' waits to receive from channel 'in'"), "{deadlock}");
        drop(tx);
        assert_eq!(last.receive(), None);
    });
    let mut graph = Graph::deterministic().sequential();
    let (_tx, rx) = graph.named::<i32>("in", 1);
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    let payload = catch_unwind(AssertUnwindSafe(|| rx.receive())).unwrap_err();
    assert!(payload.downcast_ref::<String>().unwrap().contains("receive from channel 'in'"));
}

#[test]
fn p4_finish_starts_who_has_messages() {
    let seen = Rc::new(std::cell::Cell::new(0));
    let own = seen.clone();
    let mut graph = Graph::deterministic().sequential();
    let (tx, side) = graph.channel(4);
    let (out, main) = graph.channel(1);
    graph.node("numbers", (tx, out), |cx, (side, main)| {
        (1..=3).for_each(|i| _ = side.send(cx, i));
        main.send(cx, 0);
    });
    let sink = graph.node("sink", side, move |cx, side| own.set(side.iter(cx).sum::<i32>()));
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(main).receive(), Some(0));
    assert_eq!((run.temperature(sink), seen.get()), (Temperature::Cold, 0));
    run.finish().unwrap();
    assert_eq!((run.temperature(sink), seen.get()), (Temperature::Ended, 6));
}

#[test]
fn a_node_whose_stack_unwinds_sends_what_there_is_room_for() {
    struct Last<'a, 'c>(&'a NodeCx<'c, Sequential>, &'a Sender<i32, Sequential>);
    impl Drop for Last<'_, '_> {
        fn drop(&mut self) {
            // The second would have to wait.
            assert_eq!([self.1.send(self.0, 8), self.1.send(self.0, 9)], [true, false]);
        }
    }
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let (other, waits) = graph.channel::<()>(1);
    graph.node("falls", (tx, other), |cx, (tx, _other)| {
        let _last = Last(cx, &tx);
        panic!("it falls");
    });
    let run = graph.build().unwrap();
    let (rx, waits) = (run.outlet(rx), run.outlet(waits));
    let payload = catch_unwind(AssertUnwindSafe(|| waits.receive())).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"it falls"));
    assert_eq!(rx.receive(), Some(8));
    let halt = rx.checked_receive().unwrap_err();
    assert_eq!(halt.to_string(), "node 'falls' has panicked: it falls");
}

#[test]
fn a_picture_tells_nodes_of_one_name_apart() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.named("in", 1);
        let (out, middle) = graph.named("middle", 1);
        graph.node("twin", (rx, out), forward);
        let (out, last) = graph.named("out", 1);
        graph.free_node("twin", (middle, out), |cx, ends| forward(cx, ends));
        let run = graph.build().unwrap();
        let (dot, svg) = (run.dot(), run.svg());
        assert!(dot.contains(r#""twin 0" -> "twin 1" [label="middle: 0 sent"#), "{dot}");
        assert!(dot.contains(r#""outside" -> "twin 0" [label="in: "#), "{dot}");
        assert!(dot.contains("free, cold") && svg.contains("free, cold"), "{dot}");
        drop((run.inlet(tx), run.outlet(last)));
    });
}

#[test]
fn p65_an_end_to_send_can_be_freed() {
    let mut inner = Graph::deterministic().sequential();
    let (tx, rx) = inner.channel(1);
    let (out, twice) = inner.channel(1);
    inner.node("forward", (rx, out), forward);
    let mut graph = Graph::nondeterministic().sequential();
    graph.embed(inner).unwrap();
    graph.free_node("sends", tx.freed(), |cx, tx| {
        assert_eq!([tx.try_send(cx, 1), tx.try_send(cx, 2)], [Ok(()), Err(2)]);
    });
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(twice).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_panic_of_an_operation_is_a_panic_of_its_task() {
    let events = EventLoop::default();
    events.io(|| panic!("no such file"), |()| unreachable!("it has panicked"));
    let payload = catch_unwind(AssertUnwindSafe(|| events.run())).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"no such file"));
    events.run();
}

#[test]
fn p59_the_smallest_full_channel_grows() {
    in_deterministic_modes!(|graph| {
        let mut graph = graph.growing();
        let (a, left) = graph.named("left", 4);
        let (b, right) = graph.named("right", 2);
        graph.node("forks", (a, b), |cx, (a, b)| {
            (0..20).for_each(|i| _ = b.send(cx, i));
            (0..20).for_each(|i| _ = a.send(cx, i));
        });
        let (c, passed) = graph.named("passed", 1);
        graph.node("passes", (right, c), forward);
        let both = graph.join((left, passed));
        let run = graph.build().unwrap();
        let expected: Vec<_> = (0..20).map(|i| (i, i / 2)).collect();
        assert_eq!(run.outlet(both).collect::<Vec<_>>(), expected);
    });
}
