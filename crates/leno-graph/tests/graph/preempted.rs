//! Graphs whose nodes are preempted: the output is the same.

use leno_graph::Graph;
use leno_kernel::{Budget, LocalSystem, Options, Sink, attach_for, charge};

/// What comes out of a sequential graph with safepoints in its nodes, run in slices of so many units, and
/// how many slices that took.
fn in_slices(units: u64) -> (Vec<i32>, usize) {
    let system = LocalSystem::builder().preemptive().build();
    let done = system.spawn(move || {
        let sink = Sink::new();
        let body = move || {
            let mut graph = Graph::deterministic().sequential();
            let (tx, numbers) = graph.channel(1);
            graph.node("numbers", tx, |cx, tx| {
                for i in 0..20 {
                    charge(1);
                    tx.send(cx, i);
                }
            });
            let (tx, squares) = graph.channel(2);
            graph.node("squares", (numbers, tx), |cx, (numbers, tx)| {
                for i in numbers.iter(cx) {
                    charge(3);
                    tx.send(cx, i * i);
                }
            });
            let run = graph.build().unwrap();
            let mut all = Vec::new();
            for square in run.outlet(squares) {
                charge(1);
                all.push(square);
            }
            all
        };
        let result = sink.spawn(&Options::new(), body).unwrap();
        let mut slices = 0;
        while let Some(co) = sink.next() {
            attach_for(co, Budget::units(units)).unwrap();
            slices += 1;
        }
        (result.join().unwrap(), slices)
    });
    system.run().unwrap();
    done.join().unwrap()
}

#[test]
fn p13_the_output_is_the_same_under_preemption() {
    let expected: Vec<i32> = (0..20).map(|i| i * i).collect();
    let mut most = 0;
    for units in 1..=200 {
        let (all, slices) = in_slices(units);
        assert_eq!(all, expected, "in slices of {units}");
        most = most.max(slices);
    }
    assert!(most > 10, "it was preempted: {most} slices");
}
