//@ says: no method named `clone` found
//@ says: Output<i32, Deterministic, Sequential>
//! Two senders of one channel do not compile.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, _rx) = graph.channel::<i32>(1);
    graph.node("one", tx.clone(), |cx, tx| _ = tx.send(cx, 1));
    graph.node("two", tx, |cx, tx| _ = tx.send(cx, 2));
}
