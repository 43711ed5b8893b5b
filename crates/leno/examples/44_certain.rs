//! What is known of a graph before it runs: whether its nodes can come to wait for each other for ever. If
//! that happens all the same, whoever waits outside is told who waits for what. And what has gone through a
//! graph, as a picture.

use leno::graph::Graph;

fn main() {
    // Rates: three in, two out. How much room channels need follows, and that all goes on for ever.
    let mut graph = Graph::deterministic().sequential();
    let (tx, samples) = graph.named("samples", 1);
    let (out, fewer) = graph.named("fewer", 1);
    let source = graph.iterate("microphone", tx, 1..=9);
    let resample = graph.node("resample", (samples, out), |cx, (samples, out)| {
        while let (Some(a), Some(b), Some(c)) =
            (samples.receive(cx), samples.receive(cx), samples.receive(cx))
        {
            out.send(cx, a + b / 2);
            out.send(cx, b / 2 + c);
        }
    });
    graph.rates(source, &[], &[1]);
    graph.rates(resample, &[3], &[2]);
    println!("{}", graph.guarantees().expect("it is right"));
    let run = graph.build().expect("it is right");
    println!("{:?}\n", run.outlet(fewer).collect::<Vec<_>>());
    print!("{}", run.dot());
    assert!(run.svg().starts_with("<svg"));

    // Two nodes that wait for each other's first word.
    let mut graph = Graph::deterministic().parallel(2);
    let (to_bob, from_ann) = graph.named("to bob", 1);
    let (to_ann, from_bob) = graph.named("to ann", 1);
    let (out, said) = graph.named("said", 1);
    graph.node("ann", (from_bob, to_bob, out), |cx, (from, to, out)| {
        out.send(cx, from.receive(cx));
        to.send(cx, "hello, bob");
    });
    graph.node("bob", (from_ann, to_ann), |cx, (from, to)| {
        from.receive(cx);
        to.send(cx, "hello, ann");
    });
    println!("\n{}", graph.guarantees().expect("it can be built"));
    let run = graph.build().expect("it can be built");
    println!("{}", run.outlet(said).checked_receive().expect_err("nobody begins"));
}
