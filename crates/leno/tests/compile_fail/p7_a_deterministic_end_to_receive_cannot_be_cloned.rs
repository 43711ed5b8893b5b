//@ says: no method named `clone` found for struct `
//@ says: Input<
//! Two receivers of one channel do not compile.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (_tx, rx) = graph.channel::<i32>(1);
    graph.node("one", rx.clone(), |cx, rx| drop(rx.receive(cx)));
    graph.node("two", rx, |cx, rx| drop(rx.receive(cx)));
}
