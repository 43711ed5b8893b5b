//! A graph of nodes and channels: described, built, and run when something is received from it. In a
//! deterministic graph what comes out does not depend on who runs when; a program in which it would is
//! refused before anything runs, by name.

use leno::graph::{Graph, NodeCx, Schedule, Sender};

/// A body is written once, for all modes.
fn powers<S: Schedule>(exponent: u32) -> impl FnOnce(&NodeCx<'_, S>, Sender<u32, S>) {
    move |cx, tx| (0..5_u32).for_each(|i| _ = tx.send(cx, i.pow(exponent)))
}

/// Squares and cubes, two by two, in a graph of any mode.
macro_rules! squares_and_cubes {
    ($graph:expr) => {{
        let mut graph = $graph;
        let (tx, squares) = graph.channel(1);
        graph.node("squares", tx, powers(2));
        let (tx, cubes) = graph.channel(1);
        graph.node("cubes", tx, powers(3));
        let pairs = graph.join((squares, cubes));
        let run = graph.build().expect("it is right");
        run.outlet(pairs).collect::<Vec<_>>()
    }};
}

fn main() {
    println!("sequential: {:?}", squares_and_cubes!(Graph::deterministic().sequential()));
    println!("parallel:   {:?}", squares_and_cubes!(Graph::deterministic().parallel(2)));
    println!("event loop: {:?}", squares_and_cubes!(Graph::nondeterministic().sequential()));

    // Two nodes double a number each, into one channel: who comes first?
    let mut graph = Graph::deterministic().parallel(2);
    let queue = graph.wire("results", 1);
    for number in [1, 6] {
        let out = graph.output(&queue);
        graph.iterate(format!("twice {number}"), out, [2 * number]);
    }
    let results = graph.input(&queue);
    println!("{}", graph.build().err().expect("two senders"));
    drop(results);

    // A channel for each and a join: one answer.
    let mut graph = Graph::deterministic().parallel(2);
    let both: Vec<_> = [1, 6]
        .map(|number| {
            let (tx, rx) = graph.channel(1);
            graph.iterate(format!("twice {number}"), tx, [2 * number]);
            rx
        })
        .into();
    let both = graph.join(both);
    let run = graph.build().expect("one sender each");
    println!("{:?}", run.outlet(both).receive().expect("an answer"));
}
