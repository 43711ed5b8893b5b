//! Everything of a deterministic graph, in one that is not.
use leno::graph::Graph;
use std::rc::Rc;

fn main() {
    let mut graph = Graph::nondeterministic().sequential().growing();
    let (a, left) = graph.named("left", 1);
    let node = graph.node("one", a, |cx, a| _ = a.send(cx, Rc::new(1)));
    graph.rates(node, &[], &[1]);
    let (b, right) = graph.channel(1);
    graph.stackless("two", b, |cx, b| async move { _ = b.send_async(&cx, 2).await });
    let wire = graph.wire::<i32>("wire", 1);
    let (_out, third) = (graph.output(&wire), graph.input(&wire));
    let pairs = graph.join((left, right, third));
    let run = graph.build().unwrap();
    run.start(node);
    run.outlet(pairs).cancel();
    run.finish().unwrap();
}
