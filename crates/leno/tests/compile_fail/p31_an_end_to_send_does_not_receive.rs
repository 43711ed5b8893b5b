//@ says: no method named `receive` found
//@ says: Sender<i32, Sequential>
//@ says: no method named `send` found
//@ says: Receiver<Tap<i32, Sequential>>
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
