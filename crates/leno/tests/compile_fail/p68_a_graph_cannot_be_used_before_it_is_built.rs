//@ says: no method named `outlet` found for struct `Graph<
//! Only what `build` gives can be run.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (_tx, rx) = graph.channel::<i32>(1);
    graph.outlet(rx);
}
