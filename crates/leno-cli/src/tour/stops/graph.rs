//! One program in four modes.

use leno::graph::{Graph, NodeCx, Receiver, Sender, Source};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "graph",
    shows: "A graph is checked before it runs. The same nodes run deterministically or not, on one\n\
            thread or on cores; where nothing depends on the schedule, all four give the same.",
    run: graph,
    read: "leno::graph, examples 40_state_machines to 44_certain",
};

const COUNT: u64 = 3_000;

/// Left and right neighbours of a sequence, and their product: a body for all modes.
fn products<X: Source<Item = (u64, u64)>>(
    cx: &NodeCx<'_, X::S>,
    (pairs, out): (Receiver<X>, Sender<u64, X::S>),
) {
    for (a, b) in pairs.iter(cx) {
        out.send(cx, a * b);
    }
}

macro_rules! in_mode {
    ($graph:expr) => {{
        let mut graph = $graph;
        let (tx, up) = graph.named("up", 2);
        graph.node("up", tx, |cx, tx| (0..COUNT).for_each(|n| _ = tx.send(cx, n)));
        let (tx, down) = graph.named("down", 2);
        graph.node("down", tx, |cx, tx| (0..COUNT).rev().for_each(|n| _ = tx.send(cx, n)));
        let pairs = graph.join((up, down));
        let (tx, out) = graph.named("products", 2);
        graph.node("products", (pairs, tx), products);
        let certain = graph.guarantees().map_err(|error| error.to_string())?;
        let run = graph.build().map_err(|error| error.to_string())?;
        (run.outlet(out).collect::<Vec<u64>>(), certain)
    }};
}

fn graph() -> Result<String, String> {
    let (one, certain) = in_mode!(Graph::deterministic().sequential());
    let (two, _) = in_mode!(Graph::deterministic().parallel(2));
    let (three, _) = in_mode!(Graph::nondeterministic().sequential());
    let (four, _) = in_mode!(Graph::nondeterministic().parallel(2));
    say!("of the first, before it ran:\n{certain}");
    let sums = [&one, &two, &three, &four].map(|all| all.iter().sum::<u64>());
    say!("sums of {COUNT} products, deterministic and not, sequential and parallel: {sums:?}");
    expect(&(one == two, one == three, one == four), &(true, true, true))?;
    expect(&sums[0], &(0..COUNT).map(|n| n * (COUNT - 1 - n)).sum::<u64>())?;

    // What would make a result depend on the schedule is refused, by name.
    let mut wrong = Graph::deterministic().sequential();
    let queue = wrong.wire::<u64>("queue", 1);
    for name in ["first", "second"] {
        let out = wrong.output(&queue);
        wrong.node(name, out, |cx, out| _ = out.send(cx, 1));
    }
    let results = wrong.input(&queue);
    let refused = wrong.build().err().ok_or("two senders were not refused")?.to_string();
    drop(results);
    say!("refused: {refused}");
    expect(&(refused.contains("first") && refused.contains("second")), &true)?;
    Ok(format!("{} results, equal in four modes", one.len()))
}
