//@ says: no method named `send` found
//@ says: Output<i32, Deterministic, Sequential>
//! A node can use only the ends that it was given.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, _rx) = graph.channel::<i32>(1);
    graph.node("smuggles", (), move |cx, ()| {
        tx.send(cx, 1);
    });
}
