//! Joins and selects.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Barrier};

use leno_explore::Explorer;
use leno_graph::{Graph, Side};

use crate::nodes::{in_all_modes, in_deterministic_modes, in_other_modes, range};

#[test]
fn p17_a_join_of_two_gives_pairs_in_order() {
    in_all_modes!(|graph| {
        let (a, left) = graph.channel(1);
        graph.node("left", a, range(0, 4));
        let (b, right) = graph.channel(1);
        graph.node("right", b, range(10, 20));
        let pairs = graph.join((left, right));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(pairs).collect::<Vec<_>>(), [(0, 10), (1, 11), (2, 12), (3, 13)]);
    });
}

#[test]
fn p18_a_join_of_a_list() {
    in_all_modes!(|graph| {
        let all: Vec<_> = (0..5)
            .map(|i| {
                let (tx, rx) = graph.channel(1);
                graph.node(format!("range {i}"), tx, range(10 * i, 10 * i + 2));
                rx
            })
            .collect();
        let lists = graph.join(all);
        let run = graph.build().unwrap();
        let expected = [[0, 10, 20, 30, 40], [1, 11, 21, 31, 41]].map(Vec::from);
        assert_eq!(run.outlet(lists).collect::<Vec<_>>(), expected);
    });
    in_all_modes!(|graph| {
        let mut one = |from| {
            let (tx, rx) = graph.channel(1);
            graph.node("range", tx, range(from, from + 2));
            rx
        };
        let (a, b, c, d) = (one(0), one(10), one(20), one(30));
        let (e, f, g) = (one(40), one(50), one(60));
        let four = graph.join((a, b, c, d));
        let three = graph.join((e, f, g));
        let both = graph.join((four, three));
        let run = graph.build().unwrap();
        let expected = [((0, 10, 20, 30), (40, 50, 60)), ((1, 11, 21, 31), (41, 51, 61))];
        assert_eq!(run.outlet(both).collect::<Vec<_>>(), expected);
    });
}

#[test]
fn p19_crossed_joins_do_not_deadlock() {
    Explorer::new().runs(200).check(|| {
        let mut graph = Graph::nondeterministic().parallel(2);
        let (a, left) = graph.channel(1);
        graph.node("a", a, range(0, 4));
        let (b, right) = graph.channel(1);
        graph.node("b", b, range(0, 4));
        let one = graph.join((left.clone(), right.clone()));
        let other = graph.join((right, left));
        let (out, results) = graph.channel(1);
        graph.node("one", (one, out.clone()), |cx, (one, out)| {
            one.iter(cx).for_each(|(a, b)| _ = out.send(cx, a - b));
        });
        graph.node("other", (other, out), |cx, (other, out)| {
            other.iter(cx).for_each(|(b, a)| _ = out.send(cx, a - b));
        });
        let run = graph.build().unwrap();
        let mut all: Vec<i32> = run.outlet(results).collect();
        all.sort_unstable();
        assert_eq!(all.len(), 4);
        assert_eq!(all.iter().sum::<i32>(), 0, "pairs are of one attempt");
    });
}

#[test]
fn p20_a_join_is_closed_with_either_side_and_cancels_the_other() {
    in_all_modes!(|graph| {
        let (a, left) = graph.channel(1);
        graph.node("short", a, range(0, 2));
        let (b, right) = graph.channel(1);
        let (out, refused) = graph.channel(1);
        graph.node("endless", (b, out), |cx, (b, out)| {
            while b.send(cx, 7) {}
            out.send(cx, "refused");
        });
        let pairs = graph.join((left, right));
        let run = graph.build().unwrap();
        let pairs = run.outlet(pairs);
        assert_eq!([pairs.receive(), pairs.receive()], [Some((0, 7)), Some((1, 7))]);
        assert_eq!(pairs.receive(), None);
        assert_eq!(run.outlet(refused).receive(), Some("refused"));
    });
}

#[test]
fn p21_the_sequential_deterministic_join_receives_one_after_the_other() {
    let log: Rc<RefCell<Vec<&str>>> = Rc::default();
    let mut graph = Graph::deterministic().sequential();
    let mut say = |name: &'static str| {
        let (tx, rx) = graph.channel(1);
        let log = log.clone();
        graph.node(name, tx, move |cx, tx| {
            for i in 0..2 {
                log.borrow_mut().push(name);
                tx.send(cx, i);
            }
        });
        rx
    };
    let (a, b) = (say("a"), say("b"));
    // Whatever the order in which they are joined, that of their numbers counts.
    let pairs = graph.join((b, a));
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(pairs).take(2).collect::<Vec<_>>(), [(0, 0), (1, 1)]);
    assert_eq!(*log.borrow(), ["a", "b", "a", "b"]);
}

#[test]
fn p22_the_parallel_deterministic_join_starts_all_senders() {
    // Each waits, on its thread, until the other one runs too.
    let together = Arc::new(Barrier::new(2));
    let mut graph = Graph::deterministic().parallel(2);
    let [a, b] = ["a", "b"].map(|name| {
        let (tx, rx) = graph.channel(1);
        let together = together.clone();
        graph.node(name, tx, move |cx, tx| {
            together.wait();
            tx.send(cx, name);
        });
        rx
    });
    let pairs = graph.join((a, b));
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(pairs).receive(), Some(("a", "b")));
}

#[test]
fn p23_the_sequential_join_of_others_looks_before_it_receives() {
    let mut graph = Graph::nondeterministic().sequential();
    let (a, left) = graph.channel(1);
    let (b, right) = graph.channel(1);
    let (out, results) = graph.channel(4);
    let pairs = graph.join((left.clone(), right));
    graph.node("joins", (pairs, out.clone()), |cx, (pairs, out)| {
        pairs.iter(cx).for_each(|pair| _ = out.send(cx, Side::Left(pair)));
    });
    graph.node("takes", (left, out), |cx, (left, out)| {
        if let Some(alone) = left.receive(cx) {
            out.send(cx, Side::Right(alone));
        }
    });
    let run = graph.build().unwrap();
    let (a, b, results) = (run.inlet(a), run.inlet(b), run.outlet(results));
    // The join has one of two, and takes nothing: another receiver gets it.
    a.send(1);
    assert_eq!(results.receive(), Some(Side::Right(1)));
    b.send(10);
    a.send(2);
    assert_eq!(results.receive(), Some(Side::Left((2, 10))));
}

#[test]
fn p24_the_parallel_join_of_others_loses_doubles_and_reorders_nothing() {
    Explorer::new().runs(300).check(|| {
        let mut graph = Graph::nondeterministic().parallel(2);
        let (a, left) = graph.channel(2);
        graph.node("a", a, range(0, 4));
        let (b, right) = graph.channel(1);
        graph.node("b", b, range(10, 13));
        let pairs = graph.join((left.clone(), right));
        let (out, joined) = graph.channel(8);
        graph.node("joins", (pairs, out), |cx, (pairs, out)| {
            pairs.iter(cx).for_each(|pair| _ = out.send(cx, pair));
        });
        let (out, alone) = graph.channel(8);
        graph.node("alone", (left, out), |cx, (left, out)| {
            left.iter(cx).for_each(|one| _ = out.send(cx, one));
        });
        let run = graph.build().unwrap();
        let alone: Vec<i32> = run.outlet(alone).collect();
        let joined: Vec<(i32, i32)> = run.outlet(joined).collect();
        assert!(alone.is_sorted(), "{alone:?}");
        assert!(joined.is_sorted(), "{joined:?}");
        assert!(joined.iter().zip(10..).all(|(pair, right)| pair.1 == right), "{joined:?}");
        let mut all: Vec<i32> = joined.iter().map(|pair| pair.0).chain(alone).collect();
        all.sort_unstable();
        assert!(all.iter().zip(0..).all(|(one, other)| *one == other), "{all:?}");
        assert!(joined.len() == 3 || all.len() == 4, "{joined:?} {all:?}");
    });
}

#[test]
fn p26_a_select_says_from_which_side() {
    in_other_modes!(|graph| {
        let (a, left) = graph.channel::<i32>(1);
        let (b, right) = graph.channel::<&str>(1);
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        let (a, b, either) = (run.inlet(a), run.inlet(b), run.outlet(either));
        b.send("right");
        assert_eq!(either.receive(), Some(Side::Right("right")));
        a.send(1);
        assert_eq!(either.receive(), Some(Side::Left(1)));
    });
}

#[test]
fn p27_a_select_is_closed_when_both_sides_are() {
    in_other_modes!(|graph| {
        let (a, left) = graph.channel::<i32>(1);
        let (b, right) = graph.channel::<i32>(1);
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        let (a, b, either) = (run.inlet(a), run.inlet(b), run.outlet(either));
        a.close();
        b.send(1);
        assert_eq!(either.receive(), Some(Side::Right(1)));
        b.close();
        assert_eq!(either.receive(), None);
    });
}

#[test]
fn p28_joins_and_selects_nest_and_roll_back() {
    Explorer::new().runs(300).check(|| {
        let mut graph = Graph::nondeterministic().parallel(2);
        let mut one = |name: &str, from: i32, to: i32| {
            let (tx, rx) = graph.channel(1);
            graph.node(name, tx, range(from, to));
            rx
        };
        let (a, b, c, d) = (one("a", 0, 2), one("b", 10, 12), one("c", 20, 24), one("d", 30, 32));
        let either = graph.select(a, b);
        let both = graph.join((either, c));
        let any = graph.select(both, d);
        let run = graph.build().unwrap();
        let (mut from_a, mut from_b, mut from_c, mut from_d) = (vec![], vec![], vec![], vec![]);
        for message in run.outlet(any) {
            match message {
                Side::Left((Side::Left(a), c)) => (from_a.push(a), from_c.push(c)),
                Side::Left((Side::Right(b), c)) => (from_b.push(b), from_c.push(c)),
                Side::Right(d) => (from_d.push(d), ()),
            };
        }
        assert_eq!((from_a, from_b), (vec![0, 1], vec![10, 11]));
        assert_eq!((from_c, from_d), (vec![20, 21, 22, 23], vec![30, 31]));
    });
}

#[test]
fn p28_what_is_given_back_goes_to_its_own_side() {
    // A join of a select with something that never comes gives back, every time, what it took.
    in_other_modes!(|graph| {
        let (a, left) = graph.channel::<i32>(1);
        let (b, right) = graph.channel::<i32>(1);
        let (never, nothing) = graph.channel::<i32>(1);
        let either = graph.select(left.clone(), right.clone());
        let both = graph.join((either, nothing));
        let (out, results) = graph.channel::<i32>(1);
        graph.node("joins", (both, out), |cx, (both, out)| {
            both.iter(cx).for_each(|_| _ = out.send(cx, 0));
        });
        let run = graph.build().unwrap();
        let (a, b) = (run.inlet(a), run.inlet(b));
        let (left, right, results) = (run.outlet(left), run.outlet(right), run.outlet(results));
        let joins = run.inlet(never);
        assert!(a.send(1) && b.send(2));
        assert_eq!((left.receive(), right.receive()), (Some(1), Some(2)));
        drop((a, b, joins));
        assert_eq!(results.receive(), None);
    });
}

#[test]
fn p69_one_channel_twice_in_a_join_and_a_select() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("range", tx, range(0, 6));
        let pairs = graph.join((rx.clone(), rx));
        let run = graph.build();
        // With room for one there is never a second one: an artificial deadlock, so more room.
        assert!(run.unwrap().outlet(pairs).checked_receive().is_err());
    });
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(2);
        graph.node("range", tx, range(0, 6));
        let pairs = graph.join((rx.clone(), rx));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(pairs).collect::<Vec<_>>(), [(0, 1), (2, 3), (4, 5)]);
    });
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("range", tx, range(0, 6));
        let either = graph.select(rx.clone(), rx);
        let run = graph.build().unwrap();
        assert_eq!(
            run.outlet(either).map(Side::into_inner).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5]
        );
    });
    // A deterministic node may have both ends of a join of one channel: it is one receiver.
    in_deterministic_modes!(|graph| {
        let wire = graph.wire("twice", 1);
        let tx = graph.output(&wire);
        graph.node("range", tx, range(0, 6));
        let (one, other) = (graph.input(&wire), graph.input(&wire));
        let pairs = graph.join((one, other));
        let (out, sums) = graph.channel(1);
        graph.node("sums", (pairs, out), |cx, (pairs, out)| {
            pairs.iter(cx).for_each(|(a, b)| _ = out.send(cx, a + b));
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(sums).collect::<Vec<i32>>(), [1, 5, 9]);
    });
}

#[test]
fn p24_what_two_parts_of_a_join_took_of_one_channel_is_put_back_in_order() {
    in_other_modes!(|graph| {
        let (a, first) = graph.channel(1);
        let (b, shared) = graph.channel(2);
        let (c, third) = graph.channel(1);
        let (d, last) = graph.channel(1);
        let high = graph.join((shared.clone(), third));
        let low = graph.join((first, shared));
        let both = graph.join((high, low));
        let all = graph.join((both, last));
        let (out, seen) = graph.channel(1);
        graph.free_node("tries", (all, d, out), |cx, (all, d, out)| {
            assert!(all.try_receive(cx).is_none());
            d.send(cx, 30);
            all.iter(cx).for_each(|all| _ = out.send(cx, all));
        });
        let run = graph.build().unwrap();
        let [a, b, c] = [a, b, c].map(|tx| run.inlet(tx));
        assert!(a.send(10) && b.send(0) && b.send(1) && c.send(20));
        assert_eq!(run.outlet(seen).receive(), Some((((1, 20), (10, 0)), 30)));
    });
}
