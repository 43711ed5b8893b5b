//! Nodes that are iterators.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use leno_graph::{Graph, Temperature};

use crate::nodes::{collect, in_all_modes, map};

#[test]
fn p5_an_iterator_is_a_node_in_all_modes() {
    for capacity in [1, 2, 16] {
        in_all_modes!(|graph| {
            let (tx, left) = graph.channel(capacity);
            graph.iterate("numbers", tx, 0..10);
            let (tx, rx) = graph.channel(capacity);
            graph.iterate("more", tx, vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
            let (tx, right) = graph.channel(capacity);
            graph.node("square", (rx, tx), map(|i: i32| i * i));
            let pairs = graph.join((left, right));
            let (all, list) = graph.channel(capacity);
            graph.node("collect", (pairs, all), collect);
            let run = graph.build().unwrap();
            let expected: Vec<_> = (0..10).map(|i| (i, i * i)).collect();
            assert_eq!(run.outlet(list).receive(), Some(expected));
        });
    }
}

#[test]
fn p39_an_iterator_is_asked_for_what_is_received() {
    for capacity in [1, 4] {
        let asked = Rc::new(Cell::new(0));
        let own = asked.clone();
        let mut graph = Graph::deterministic().sequential();
        let (tx, rx) = graph.named("numbers", capacity);
        let node = graph.iterate("numbers", tx, (0..5).inspect(move |_| own.set(own.get() + 1)));
        let run = graph.build().unwrap();
        assert_eq!((run.temperature(node), asked.get()), (Temperature::Cold, 0));
        let numbers = run.outlet(rx);
        for i in 0..5 {
            assert_eq!((numbers.receive(), asked.get()), (Some(i), i + 1));
            assert_eq!(run.temperature(node), Temperature::Hot);
        }
        assert_eq!((numbers.receive(), numbers.receive()), (None, None));
        assert_eq!(run.temperature(node), Temperature::Ended);
        assert_eq!(run.counters()[0].1.sent, 5);
    }
}

#[test]
fn an_iterator_that_nobody_receives_from_any_more_ends() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(2);
    let node = graph.iterate("for ever", tx, 0..);
    let run = graph.build().unwrap();
    let numbers = run.outlet(rx);
    assert_eq!(numbers.receive(), Some(0));
    // It runs ahead when it is made to: until its channel is full.
    let deadlock = run.finish().unwrap_err().to_string();
    assert!(deadlock.contains("'for ever' waits to send into channel"), "{deadlock}");
    assert_eq!([numbers.receive(), numbers.receive(), numbers.receive()], [1, 2, 3].map(Some));
    numbers.cancel();
    run.finish().unwrap();
    assert_eq!(run.temperature(node), Temperature::Ended);
}

#[test]
fn a_panic_of_an_iterator_reaches_the_one_outside() {
    for is_first in [true, false] {
        let mut graph = Graph::deterministic().sequential();
        let (tx, rx) = graph.channel(1);
        let from = if is_first { 3 } else { 0 };
        graph.iterate("three", tx, (from..9).inspect(|i| assert!(*i < 3, "no more than three")));
        let (tx, twice) = graph.channel(1);
        graph.node("twice", (rx, tx), map(|i: i32| 2 * i));
        let run = graph.build().unwrap();
        let twice = run.outlet(twice);
        let all = || (0..10).map_while(|_| twice.receive()).count();
        let payload = catch_unwind(AssertUnwindSafe(all)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"no more than three"));
        let halt = twice.checked_receive().unwrap_err().to_string();
        assert_eq!(halt, "node 'three' has panicked: no more than three");
    }
}

#[test]
fn p53_an_iterator_of_a_graph_that_is_embedded() {
    let mut inner = Graph::deterministic().sequential();
    let (tx, rx) = inner.channel(1);
    inner.iterate("numbers", tx, 0..3);
    let mut graph = Graph::nondeterministic().sequential();
    graph.embed(inner).unwrap();
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [0, 1, 2]);
}
