//! Two state machines, one behind the other: runs of letters are counted, and counts are written down. Each
//! keeps its state in its own variables and asks for its next input where it needs it, in the middle of a
//! loop. The first is written with a stack, the second as a future; nobody can tell.

use leno::graph::{FutureCx, Graph, NodeCx, Receiver, Schedule, Sender, Source};

/// A letter, and how often it comes.
type Run = (char, usize);

/// Letters to runs.
fn runs<X: Source<Item = char>>(
    cx: &NodeCx<'_, X::S>,
    (letters, out): (Receiver<X>, Sender<Run, X::S>),
) {
    let Some(mut current) = letters.receive(cx) else { return };
    let mut count = 1;
    for letter in letters.iter(cx) {
        if letter != current {
            out.send(cx, (current, count));
            (current, count) = (letter, 0);
        }
        count += 1;
    }
    out.send(cx, (current, count));
}

/// Runs to words.
async fn words<X: Source<Item = Run, S = S>, S: Schedule>(
    cx: FutureCx<S>,
    (runs, out): (Receiver<X>, Sender<String, S>),
) {
    while let Some((letter, count)) = runs.receive_async(&cx).await {
        let word = if count > 1 { format!("{count}{letter}") } else { letter.to_string() };
        out.send_async(&cx, word).await;
    }
}

fn main() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, letters) = graph.named("letters", 1);
    let (out, pairs) = graph.named("runs", 1);
    graph.node("runs", (letters, out), runs);
    let (out, text) = graph.named("words", 1);
    graph.stackless("words", (pairs, out), words);
    let input = "mississippi eeeeel";
    graph.iterate("input", tx, input.chars());
    let run = graph.build().expect("it is right");
    println!("{input} -> {}", run.outlet(text).collect::<String>());
    for (channel, counters) in run.counters() {
        println!("{channel}: {} messages", counters.sent);
    }
}
