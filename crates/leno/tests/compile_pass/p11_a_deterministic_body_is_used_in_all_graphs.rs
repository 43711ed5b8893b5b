//! One body, written once, in graphs of all four modes.
use leno::graph::{NodeCx, Graph, Schedule, Sender};

fn squares<S: Schedule>(cx: &NodeCx<'_, S>, out: Sender<i32, S>) {
    (0..5).for_each(|i| _ = out.send(cx, i * i));
}

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, _rx) = graph.channel(1);
    graph.node("squares", tx, squares);
    let mut graph = Graph::deterministic().parallel(2);
    let (tx, _rx) = graph.channel(1);
    graph.node("squares", tx, squares);
    let mut graph = Graph::nondeterministic().sequential();
    let (tx, _rx) = graph.channel(1);
    graph.node("squares", tx, squares);
    let mut graph = Graph::nondeterministic().parallel(2);
    let (tx, _rx) = graph.channel(1);
    graph.node("squares", tx, squares);
}
