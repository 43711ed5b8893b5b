//@ says: no method named `now` found for reference `&NodeCx<'_, Sequential>`
//! Nothing but its input.
use leno::graph::Graph;

fn main() {
    let mut graph = Graph::nondeterministic().sequential();
    graph.node("clock", (), |cx, ()| drop(cx.now()));
}
