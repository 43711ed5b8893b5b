//@ says: borrow of moved value: `message`
//! Ownership moves with the message.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().parallel(2);
    let (tx, _rx) = graph.channel::<Vec<i32>>(1);
    graph.node("keeps", tx, |cx, tx| {
        let message = vec![1];
        tx.send(cx, message);
        println!("{message:?}");
    });
}
