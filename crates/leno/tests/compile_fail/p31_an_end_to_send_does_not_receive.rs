//@ says: no method named `receive` found for struct `leno::graph::Sender<
//@ says: no method named `send` found for struct `leno::graph::Receiver<
//! Sending and receiving are separate interfaces.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel::<i32>(1);
    graph.node("one", (tx, rx), |cx, (tx, rx)| {
        tx.receive(cx);
        rx.send(cx, 1);
    });
}
