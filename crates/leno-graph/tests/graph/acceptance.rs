//! The acceptance cases of Concurrency4D, the public code of Porsev 2023, written anew. Each runs for
//! deterministic graphs with room for one and for two messages, and for the others.

use std::time::Duration;

use leno_graph::{BuildError, Graph, Side};

use crate::nodes::{
    breaker, cancellable, collect, in_all_modes, in_deterministic_modes, in_other_modes, map, range,
};

fn squares(n: i32) -> Vec<(i32, i32)> {
    (0..n).map(|i| (i, i * i)).collect()
}

#[test]
fn c4d_range() {
    for capacity in [1, 2] {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel(capacity);
            let (all, list) = graph.channel(capacity);
            graph.node("range", tx, range(0, 10));
            graph.node("collect", (rx, all), collect);
            let run = graph.build().unwrap();
            assert_eq!(run.outlet(list).receive(), Some((0..10).collect()));
        });
    }
}

#[test]
fn c4d_join_ranges() {
    for (times, capacity) in [(40, 1), (40, 2)] {
        for _ in 0..times {
            in_all_modes!(|graph| {
                let (tx, left) = graph.channel(capacity);
                graph.node("range", tx, range(0, 10));
                let (tx, rx) = graph.channel(capacity);
                graph.node("numbers", tx, range(0, 10));
                let (tx, right) = graph.channel(capacity);
                graph.node("square", (rx, tx), map(|i: i32| i * i));
                let pairs = graph.join((left, right));
                let (all, list) = graph.channel(capacity);
                graph.node("collect", (pairs, all), collect);
                let run = graph.build().unwrap();
                assert_eq!(run.outlet(list).receive(), Some(squares(10)));
            });
        }
    }
}

#[test]
fn c4d_join_ranges_vice_versa() {
    for capacity in [1, 2] {
        in_all_modes!(|graph| {
            let (tx, left) = graph.channel(capacity);
            graph.node("range", tx, range(0, 10));
            let (tx, rx) = graph.channel(capacity);
            graph.node("numbers", tx, range(0, 10));
            let (tx, right) = graph.channel(capacity);
            graph.node("square", (rx, tx), map(|i: i32| i * i));
            let pairs = graph.join((right, left));
            let run = graph.build().unwrap();
            let expected: Vec<_> = squares(10).into_iter().map(|(a, b)| (b, a)).collect();
            assert_eq!(run.outlet(pairs).collect::<Vec<_>>(), expected);
        });
    }
}

#[test]
fn c4d_simple_and_second_order_join() {
    for capacity in [1, 2] {
        in_all_modes!(|graph| {
            let [a, b, c] = [0, 1, 2].map(|_| {
                let (tx, rx) = graph.channel(capacity);
                graph.node("range", tx, range(0, 10));
                rx
            });
            let pairs = graph.join((a, b));
            let nested = graph.join((pairs, c));
            let run = graph.build().unwrap();
            let expected: Vec<_> = (0..10).map(|i| ((i, i), i)).collect();
            assert_eq!(run.outlet(nested).collect::<Vec<_>>(), expected);
        });
    }
}

#[test]
fn c4d_a_join_promotes_a_close() {
    in_all_modes!(|graph| {
        let (tx, numbers) = graph.channel(1);
        graph.node("range", tx, range(0, 10));
        let (c, closed) = graph.channel::<i32>(1);
        let pairs = graph.join((numbers, closed));
        let run = graph.build().unwrap();
        assert!(run.inlet(c).close());
        assert_eq!(run.outlet(pairs).receive(), None);
    });
    in_all_modes!(|graph| {
        let (a, left) = graph.channel::<i32>(1);
        let (b, right) = graph.channel::<i32>(1);
        let pairs = graph.join((left, right));
        let run = graph.build().unwrap();
        drop((run.inlet(a), run.inlet(b)));
        assert_eq!(run.outlet(pairs).receive(), None);
    });
}

#[test]
fn c4d_a_join_cancels_one_channel_if_the_other_is_closed() {
    in_all_modes!(|graph| {
        let (c, closed) = graph.channel::<i32>(1);
        let (tx, rx) = graph.channel(1);
        let (quit, count) = graph.channel(1);
        graph.node("cancellable", (tx, quit), cancellable);
        let pairs = graph.join((closed, rx));
        let run = graph.build().unwrap();
        run.inlet(c).close();
        assert_eq!(run.outlet(pairs).receive(), None);
        assert_eq!(run.outlet(count).receive(), Some(0));
    });
}

#[test]
fn c4d_cancel_once_and_twice() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (quit, count) = graph.channel(1);
        graph.node("cancellable", (tx, quit), cancellable);
        let run = graph.build().unwrap();
        let rx = run.outlet(rx);
        assert!(rx.cancel());
        assert!(!rx.cancel());
        assert_eq!(run.outlet(count).receive(), Some(0));
    });
}

#[test]
fn c4d_cancel_both_sides_of_a_join() {
    in_all_modes!(|graph| {
        let (mut sides, mut counts) = (Vec::new(), Vec::new());
        for name in ["left", "right"] {
            let (tx, rx) = graph.channel(1);
            let (quit, count) = graph.channel(1);
            graph.node(name, (tx, quit), cancellable);
            sides.push(rx);
            counts.push(count);
        }
        let both = graph.join(sides);
        let counts = graph.join(counts);
        let run = graph.build().unwrap();
        assert!(run.outlet(both).cancel());
        assert_eq!(run.outlet(counts).receive(), Some(vec![0, 0]));
    });
}

#[test]
fn c4d_cancel_through_a_bridge() {
    for capacity in [1, 2] {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.channel(capacity);
            let (out, result) = graph.channel(capacity);
            graph.node("breaker", (rx, out), breaker(100));
            let run = graph.build().unwrap();
            let (tx, result) = (run.inlet(tx), run.outlet(result));
            assert!(tx.send(1));
            assert_eq!(result.receive(), Some(1));
            assert!(tx.send(100));
            assert_eq!(result.receive(), None);
            assert!(!tx.send(1));
        });
    }
}

#[test]
fn c4d_graph_with_in_and_out() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, result) = graph.channel(1);
        graph.node("square", (rx, out), map(|i: i32| i * i));
        let run = graph.build().unwrap();
        run.inlet(tx).send(12);
        assert_eq!(run.outlet(result).receive(), Some(144));
    });
}

#[test]
fn c4d_close_and_send() {
    in_all_modes!(|graph| {
        let (tx, _rx) = graph.channel(1);
        let run = graph.build().unwrap();
        let tx = run.inlet(tx);
        assert!(tx.close());
        assert!(!tx.close());
        assert!(!tx.send(1), "and it does not block");
        assert!(!tx.send(2));
    });
}

#[test]
fn c4d_constraints() {
    in_deterministic_modes!(|graph| {
        let wire = graph.wire("numbers", 1);
        let (first, second) = (graph.output(&wire), graph.output(&wire));
        graph.node("first", first, range(0, 1));
        graph.node("second", second, range(0, 1));
        let _rx = graph.input(&wire);
        assert!(matches!(graph.build(), Err(BuildError::ManySenders { .. })));
    });
    in_deterministic_modes!(|graph| {
        let wire = graph.wire("numbers", 1);
        let tx = graph.output(&wire);
        graph.node("range", tx, range(0, 1));
        for name in ["first", "second"] {
            let (all, _list) = graph.channel(1);
            let rx = graph.input(&wire);
            graph.node(name, (rx, all), collect);
        }
        assert!(matches!(graph.build(), Err(BuildError::ManyReceivers { .. })));
    });
}

#[test]
fn c4d_select_does_not_promote_one_close() {
    in_other_modes!(|graph| {
        let (a, left) = graph.channel::<i32>(1);
        let (b, right) = graph.channel::<i32>(1);
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        run.inlet(a).close();
        let b = run.inlet(b);
        b.send(1);
        let either = run.outlet(either);
        assert_eq!(either.receive(), Some(Side::Right(1)));
        b.close();
        assert_eq!(either.receive(), None);
    });
    in_other_modes!(|graph| {
        let (a, left) = graph.channel::<i32>(1);
        let (b, right) = graph.channel::<i32>(1);
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        run.inlet(b).close();
        let a = run.inlet(a);
        a.send(1);
        assert_eq!(run.outlet(either).receive(), Some(Side::Left(1)));
    });
    in_other_modes!(|graph| {
        let (a, left) = graph.channel::<bool>(1);
        let (b, right) = graph.channel::<i32>(1);
        graph.free_node("interval", a, |cx, out| {
            cx.sleep(Duration::from_millis(10));
            while out.send(cx, true) {
                cx.sleep(Duration::from_millis(10));
            }
        });
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        run.inlet(b).close();
        assert_eq!(run.outlet(either).receive(), Some(Side::Left(true)));
    });
}

#[test]
fn c4d_select_flattens_ranges() {
    for (one, other) in [(100, 100), (5, 10)] {
        in_other_modes!(|graph| {
            let (a, left) = graph.channel(1);
            graph.node("one", a, range(0, one));
            let (b, right) = graph.channel(1);
            graph.node("other", b, range(0, other));
            let either = graph.select(left, right);
            let run = graph.build().unwrap();
            let mut all: Vec<i32> = run.outlet(either).map(Side::into_inner).collect();
            all.sort_unstable();
            let mut expected: Vec<i32> = (0..one).chain(0..other).collect();
            expected.sort_unstable();
            assert_eq!(all, expected);
        });
    }
}

#[test]
fn c4d_cancel_select() {
    in_other_modes!(|graph| {
        let (a, left) = graph.channel(1);
        let (quit, first) = graph.channel(1);
        graph.node("left", (a, quit), cancellable);
        let (b, right) = graph.channel(1);
        let (quit, second) = graph.channel(1);
        graph.node("right", (b, quit), cancellable);
        let either = graph.select(left, right);
        let counts = graph.join((first, second));
        let run = graph.build().unwrap();
        run.outlet(either).cancel();
        assert_eq!(run.outlet(counts).receive(), Some((0, 0)));
    });
}

#[test]
fn c4d_select_in_join_rolls_back() {
    for is_left in [true, false] {
        in_other_modes!(|graph| {
            let (a, left) = graph.channel(1);
            let (b, right) = graph.channel(1);
            let either = graph.select(left, right);
            let (tx, zero) = graph.channel(1);
            graph.node("range", tx, range(0, 1));
            let both = graph.join((either, zero));
            let run = graph.build().unwrap();
            let (a, b) = (run.inlet(a), run.inlet(b));
            assert!(if is_left { a.send(1) } else { b.send(1) });
            let expected = if is_left { Side::Left(1) } else { Side::Right(1) };
            assert_eq!(run.outlet(both).receive(), Some((expected, 0)));
        });
    }
}

#[test]
fn c4d_range_and_timer() {
    in_other_modes!(|graph| {
        let (tx, numbers) = graph.channel(1);
        graph.node("range", tx, range(0, 10));
        let (tx, beats) = graph.channel(1);
        graph.free_node("interval", tx, |cx, out| {
            while out.send(cx, true) {
                cx.sleep(Duration::from_millis(2));
            }
        });
        let both = graph.join((numbers, beats));
        let run = graph.build().unwrap();
        let expected: Vec<_> = (0..10).map(|i| (i, true)).collect();
        assert_eq!(run.outlet(both).collect::<Vec<_>>(), expected);
    });
    in_other_modes!(|graph| {
        let (tx, beats) = graph.channel(1);
        graph.free_node("interval", tx, |cx, out| {
            while out.send(cx, true) {
                cx.sleep(Duration::from_millis(2));
            }
        });
        let (tx, numbers) = graph.channel(1);
        graph.node("range", tx, range(0, 10));
        let both = graph.join((beats, numbers));
        let run = graph.build().unwrap();
        let expected: Vec<_> = (0..10).map(|i| (true, i)).collect();
        assert_eq!(run.outlet(both).collect::<Vec<_>>(), expected);
    });
}

#[test]
fn c4d_one_close_of_many_senders() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("nothing", tx.clone(), range(0, 0));
        graph.node("one", tx, range(0, 1));
        let run = graph.build().unwrap();
        let rx = run.outlet(rx);
        assert_eq!(rx.receive(), Some(0));
        assert_eq!(rx.receive(), None);
    });
}

#[test]
fn c4d_one_cancel_of_many_receivers() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (quit, count) = graph.channel(1);
        graph.node("cancellable", (tx, quit), cancellable);
        let (out, kept) = graph.channel(1);
        graph.node("kept", (rx.clone(), out), map(|x: bool| x));
        let (out, dropped) = graph.channel(1);
        graph.node("dropped", (rx, out), map(|x: bool| x));
        let run = graph.build().unwrap();
        run.outlet(dropped).cancel();
        let kept = run.outlet(kept);
        // One of the two may have taken one message before it found its output cancelled.
        let seen = kept.count();
        assert!((100..=101).contains(&seen), "{seen}");
        assert_eq!(run.outlet(count).receive(), Some(100));
    });
}

#[test]
fn c4d_closed_sides_roll_back() {
    // A join of which one side is closed, in a select.
    for is_left in [true, false] {
        in_other_modes!(|graph| {
            let (tx, empty) = graph.channel::<i32>(1);
            graph.node("empty", tx, |_, _| {});
            let (tx, nothing) = graph.channel(1);
            graph.node("range 0", tx, range(0, 0));
            let (tx, zero) = graph.channel(1);
            graph.node("range 1", tx, range(0, 1));
            let closed = graph.join((empty, nothing));
            if is_left {
                let either = graph.select(closed, zero);
                let run = graph.build().unwrap();
                assert_eq!(run.outlet(either).receive(), Some(Side::Right(0)));
            } else {
                let either = graph.select(zero, closed);
                let run = graph.build().unwrap();
                assert_eq!(run.outlet(either).receive(), Some(Side::Left(0)));
            }
        });
    }
    // A select of one channel twice, closed, in a select.
    for is_left in [true, false] {
        in_other_modes!(|graph| {
            let (c, closed) = graph.channel::<i32>(1);
            let twice = graph.select(closed.clone(), closed);
            let (tx, zero) = graph.channel(1);
            graph.node("range 1", tx, range(0, 1));
            if is_left {
                let either = graph.select(twice, zero);
                let run = graph.build().unwrap();
                run.inlet(c).close();
                assert_eq!(run.outlet(either).receive(), Some(Side::Right(0)));
            } else {
                let either = graph.select(zero, twice);
                let run = graph.build().unwrap();
                run.inlet(c).close();
                assert_eq!(run.outlet(either).receive(), Some(Side::Left(0)));
            }
        });
    }
}

#[test]
fn c4d_join_of_a_closed_map_and_a_range() {
    for _ in 0..50 {
        in_other_modes!(|graph| {
            let (tx, rx) = graph.channel(1);
            graph.node("range 0", tx, range(0, 0));
            let (tx, mapped) = graph.channel(1);
            graph.node("map", (rx, tx), map(|i: i32| i));
            let (tx, one) = graph.channel(1);
            graph.node("range 1", tx, range(0, 1));
            let both = graph.join((mapped, one));
            let run = graph.build().unwrap();
            assert_eq!(run.outlet(both).receive(), None);
        });
    }
}

/// A deterministic graph of one range, and its end, in each schedule.
macro_rules! embedded_range {
    ($graph:ident, $make:expr, $from:expr, $to:expr) => {{
        let mut inner = $make;
        let (tx, rx) = inner.channel(1);
        inner.node("range", tx, range($from, $to));
        $graph.embed(inner).unwrap();
        rx
    }};
}

macro_rules! mixed {
    ($outer:expr, $inner:expr) => {{
        let mut graph = $outer;
        let numbers = embedded_range!(graph, $inner, 0, 2);
        let (tx, beats) = graph.channel(1);
        graph.free_node("interval", tx, |cx, out| {
            while out.send(cx, true) {
                cx.sleep(Duration::from_millis(1));
            }
        });
        let both = graph.join((numbers, beats));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(both).collect::<Vec<_>>(), [(0, true), (1, true)]);

        let mut graph = $outer;
        let one = embedded_range!(graph, $inner, 0, 2);
        let other = embedded_range!(graph, $inner, 10, 12);
        let both = graph.join((one, other));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(both).collect::<Vec<_>>(), [(0, 10), (1, 11)]);

        let mut graph = $outer;
        let one = embedded_range!(graph, $inner, 0, 2);
        let other = embedded_range!(graph, $inner, 10, 12);
        let either = graph.select(one, other);
        let run = graph.build().unwrap();
        let mut all: Vec<i32> = run.outlet(either).map(Side::into_inner).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 10, 11]);
    }};
}

#[test]
fn c4d_mixed_graphs() {
    mixed!(Graph::nondeterministic().sequential(), Graph::deterministic().sequential());
    mixed!(Graph::nondeterministic().parallel(2), Graph::deterministic().parallel(2));
}

#[test]
fn c4d_a_worker_signals_that_it_is_done() {
    in_other_modes!(|graph| {
        let (tx, done) = graph.channel(1);
        graph.free_node("worker", tx, |cx, tx| {
            cx.sleep(Duration::from_millis(20));
            tx.send(cx, ());
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(done).receive(), Some(()));
    });
}
