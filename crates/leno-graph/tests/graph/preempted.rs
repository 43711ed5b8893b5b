//! Graphs whose nodes are preempted: the output is the same.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use leno_explore::Explorer;
use leno_graph::{Deterministic, Graph, Parallel, Temperature};
use leno_kernel::{Budget, LocalSystem, Options, Sink, charge};

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
            co.attach(Budget::units(units)).unwrap();
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

thread_local! {
    /// Which node ran last on this thread.
    static LAST: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Work with a safepoint in each lap; counts how often another node ran in between.
fn work(node: u64, laps: u64, interruptions: &AtomicUsize) -> u64 {
    let mut value = node;
    for lap in 0..laps {
        LAST.set(node);
        charge(1);
        if LAST.get() != node {
            interruptions.fetch_add(1, Relaxed);
        }
        value = value.wrapping_mul(6_364_136_223_846_793_005) ^ lap;
    }
    value
}

/// Three nodes that work beside each other on what they are sent, joined; as bits, so that nothing is taken
/// for equal that is not. And how often one was interrupted by another.
fn beside(mut graph: Graph<Deterministic, Parallel>, count: u64) -> (Vec<Vec<u64>>, usize) {
    let interruptions = Arc::new(AtomicUsize::new(0));
    let mut results = Vec::new();
    for node in 0..3 {
        let (tx, numbers) = graph.channel(1);
        graph.iterate(format!("numbers {node}"), tx, 0..count);
        let (tx, result) = graph.channel(1 + node as usize);
        let interruptions = interruptions.clone();
        graph.node(format!("work {node}"), (numbers, tx), move |cx, (numbers, tx)| {
            let mut sum = 0.5_f64;
            for n in numbers.iter(cx) {
                sum = sum / 3.0 + work(node, 5 + n, &interruptions) as f64;
                tx.send(cx, sum.to_bits());
            }
        });
        results.push(result);
    }
    let results = graph.join(results);
    let run = graph.build().unwrap();
    let all = run.outlet(results).collect();
    drop(run);
    (all, interruptions.load(Relaxed))
}

#[test]
fn p13_the_output_is_the_same_while_nodes_on_several_cores_are_preempted() {
    let whole = || Graph::deterministic().parallel(2);
    let (expected, _) = beside(whole(), 12);
    assert_eq!(expected.len(), 12);
    for units in 1..=100 {
        let (all, _) = beside(whole().quantum(Budget::units(units)), 12);
        assert_eq!(all, expected, "a quantum of {units}");
    }
    let (all, _) = beside(whole().quantum(Budget::time(Duration::from_micros(20))), 12);
    assert_eq!(all, expected, "a quantum of time");
    // On one core it is certain that they stand in each other's way.
    let one = || Graph::deterministic().parallel(1);
    assert_eq!(beside(one(), 12), (expected.clone(), 0));
    let (all, interruptions) = beside(one().quantum(Budget::units(2)), 12);
    assert_eq!(all, expected);
    assert!(interruptions > 12, "nodes were preempted {interruptions} times");
}

#[test]
fn p13_the_output_is_the_same_under_1000_schedules_with_preemption() {
    let (expected, _) = beside(Graph::deterministic().parallel(2), 2);
    for units in 1..=10 {
        let expected = expected.clone();
        Explorer::new().random(units).runs(100).check(move || {
            let graph = Graph::deterministic().parallel(2).quantum(Budget::units(units));
            assert_eq!(beside(graph, 2).0, expected);
        });
    }
}

#[test]
fn p13_nodes_are_preempted_in_the_system_that_is_there() {
    let run = |is_preemptive: bool| {
        let system = LocalSystem::builder();
        let system = if is_preemptive { system.preemptive().build() } else { system.build() };
        let done = system.spawn(|| {
            let mut graph = Graph::deterministic().parallel_here().quantum(Budget::units(3));
            let (tx, rx) = graph.channel(1);
            graph.node("counts", tx, |cx, tx| {
                (0..5).for_each(|i| {
                    charge(2);
                    tx.send(cx, i);
                });
            });
            graph.build().map(|run| run.outlet(rx).collect::<Vec<i32>>())
        });
        system.run().unwrap();
        done.join().unwrap()
    };
    assert_eq!(run(true), Ok(vec![0, 1, 2, 3, 4]));
    let error = run(false).unwrap_err().to_string();
    assert!(error.contains("its system is not preemptive"), "{error}");
}

#[test]
fn p13_a_preempted_node_ends_with_its_graph() {
    struct Drops(Arc<AtomicUsize>);
    impl Drop for Drops {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut graph = Graph::deterministic().parallel(2).quantum(Budget::units(10));
    let (tx, rx) = graph.channel(1);
    let own = Drops(dropped.clone());
    graph.node("for ever", tx, move |cx, tx| {
        let _own = own;
        for i in 0_u64.. {
            charge(1);
            tx.send(cx, i);
        }
    });
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    assert_eq!([rx.receive(), rx.receive()], [Some(0), Some(1)]);
    drop(run);
    assert_eq!(dropped.load(Relaxed), 1);
    while rx.checked_receive().is_ok() {}
}

#[test]
fn p13_a_preempted_node_that_panics_closes_its_ends() {
    let mut graph = Graph::deterministic().parallel(1).quantum(Budget::units(2));
    let (tx, rx) = graph.channel(1);
    let node = graph.node("falls", tx, |cx, tx| {
        (0..10).for_each(|_| charge(1));
        tx.send(cx, 1);
        panic!("it falls");
    });
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    assert_eq!(rx.receive(), Some(1));
    let halt = rx.checked_receive().unwrap_err().to_string();
    assert_eq!(halt, "node 'falls' has panicked: it falls");
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.finish())).is_err());
    assert_eq!(run.temperature(node), Temperature::Ended);
}
