//@ says: borrow of moved value: `graph`
//! `build` takes the graph.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let _run = graph.build();
    graph.node("late", (), |_, ()| {});
}
