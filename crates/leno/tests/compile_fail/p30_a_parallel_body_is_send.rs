//@ says: `Rc<i32>` cannot be sent between threads safely
//! Bodies of parallel graphs move to whichever core starts them.
use leno::graph::Graph;
use std::rc::Rc;

fn main() {
    let mut graph = Graph::deterministic().parallel(2);
    let shared = Rc::new(1);
    graph.node("shares", (), move |_, ()| drop(shared));
}
