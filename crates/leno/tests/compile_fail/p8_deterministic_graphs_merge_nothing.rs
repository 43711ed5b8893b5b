//@ says: no method named `select` found for struct `Graph
//! A deterministic graph has no select.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (_a, left) = graph.channel::<i32>(1);
    let (_b, right) = graph.channel::<i32>(1);
    graph.select(left, right);
}
