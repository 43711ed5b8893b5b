//! Graphs whose nodes are preempted.

use leno::graph::{Graph, Temperature};
use leno::kernel::{LocalSystem, Options};
use leno::process::{Budget, Sink, preemptible};

#[preemptible]
fn digits(mut n: u64) -> u64 {
    let mut sum = 0;
    while n > 0 {
        sum += n % 10;
        n /= 10;
    }
    sum
}

/// What comes out of a graph that is run in slices of so many units, what has gone through its channels,
/// and how many slices it took.
fn in_slices(units: u64) -> (Vec<(u64, u64)>, Vec<u64>, usize) {
    let system = LocalSystem::builder().preemptive().build();
    let done = system.spawn(move || {
        let sink = Sink::new();
        let body = move || {
            let mut graph = Graph::deterministic().sequential();
            let (tx, squares) = graph.named("squares", 1);
            let (left, sums) = graph.named("sums", 2);
            let (right, rests) = graph.named("rests", 1);
            graph.node("squares", tx, |cx, tx| {
                (0..12u64).for_each(|n| _ = tx.send(cx, n * n * 997))
            });
            let both = graph.node("both", (squares, left, right), |cx, (squares, left, right)| {
                for n in squares.iter(cx) {
                    left.send(cx, digits(n));
                    right.send(cx, n % 7);
                }
            });
            let pairs = graph.join((sums, rests));
            let run = graph.build().unwrap();
            let all: Vec<_> = run.outlet(pairs).collect();
            assert_eq!(run.temperature(both), Temperature::Ended);
            let sent = run.counters().iter().map(|(_, counters)| counters.sent).collect();
            (all, sent)
        };
        let result = sink.spawn(&Options::new(), body).unwrap();
        let mut slices = 0;
        while let Some(co) = sink.next() {
            co.attach(Budget::units(units)).unwrap();
            slices += 1;
        }
        let (all, sent) = result.join().unwrap();
        (all, sent, slices)
    });
    system.run().unwrap();
    done.join().unwrap()
}

#[test]
fn i02_a_graph_is_the_same_however_often_its_nodes_are_preempted() {
    let digits = |n: u64| n.to_string().bytes().map(|c| u64::from(c - b'0')).sum::<u64>();
    let numbers = || (0..12u64).map(|n| n * n * 997);
    let expected: Vec<_> = numbers().map(|n| (digits(n), n % 7)).collect();
    let mut most = 0;
    for units in 1..=200 {
        let (all, sent, slices) = in_slices(units);
        assert_eq!((all, sent), (expected.clone(), vec![12, 12, 12]), "in slices of {units}");
        most = most.max(slices);
    }
    assert!(most > 20, "it was preempted: {most} slices");
}
