//@ says: mismatched types
//@ says: expected `&FreeCx<'_, Sequential>`, found `&NodeCx<'_, Sequential>`
//! Whether something is there already depends on the schedule.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (_tx, rx) = graph.channel::<i32>(1);
    graph.node("tries", rx, |cx, rx| drop(rx.try_receive(cx)));
}
