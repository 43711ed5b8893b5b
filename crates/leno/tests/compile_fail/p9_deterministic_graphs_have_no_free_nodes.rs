//@ says: no method named `free_node` found for struct `Graph<Deterministic, Parallel>`
//! A node that may see the world is for other graphs.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().parallel(2);
    graph.free_node("clock", (), |cx, ()| drop(cx.now()));
}
