//! Four layers in one program: a coroutine walks, a graph computes, a pipeline of fibres connects them, and
//! a flexible coroutine keeps the score for it and for a thread.

use leno::fibre::chip::{filter, iterate_with, procedure};
use leno::flexible::{Me, System};
use leno::together::graph_chip;
use leno::{Coroutine, Suspender};

/// All ways to throw `left` dice, from deep inside a recursion.
fn throws(co: &Suspender<(), Vec<u32>>, so_far: &mut Vec<u32>, left: u32) {
    if left == 0 {
        return co.suspend(so_far.clone());
    }
    for dots in 1..=6 {
        so_far.push(dots);
        throws(co, so_far, left - 1);
        so_far.pop();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One at a time, whoever calls: no lock.
    let system = System::new();
    let score = system.create("score", |me: &mut Me<Option<u32>, (u32, u32)>| {
        let (mut count, mut best) = (0, 0);
        loop {
            if let Some(Some(points)) = me.parameter() {
                (count, best) = (count + 1, best.max(points));
            }
            me.detach((count, best));
        }
    });

    // The sum goes one way and the doublets the other, and they meet again.
    let points = graph_chip("points", |graph, thrown, out| {
        let (tx, sums) = graph.channel(1);
        let (same, doublets) = graph.channel(1);
        graph.node("both", (thrown, tx, same), |cx, (thrown, tx, same)| {
            for dice in thrown.iter(cx) {
                let dice: Vec<u32> = dice;
                tx.send(cx, dice.iter().sum::<u32>());
                same.send(cx, dice.windows(2).all(|pair| pair[0] == pair[1]));
            }
        });
        let both = graph.join((sums, doublets));
        graph.node("points", (both, out), |cx, (both, out)| {
            for (sum, is_doublet) in both.iter(cx) {
                out.send(cx, if is_doublet { 2 * sum } else { sum });
            }
        });
    });

    let keep = score.clone();
    let pipeline = iterate_with(|| Coroutine::new(|co, ()| throws(co, &mut Vec::new(), 2)))
        | points
        | filter(|points: &u32| *points > 6, |points| points)
        | procedure(move |points| drop(keep.call(Some(points)))); // parks this fibre, not its thread
    let ran = leno::run(move |cx| pipeline.start(cx, ()));
    println!("fibres: {}", ran.report());

    let thread = std::thread::spawn(move || score.call(None));
    let (count, best) = thread.join().expect("it does not panic")?;
    println!("{count} throws of more than 6 points, {best} at best");
    Ok(())
}
