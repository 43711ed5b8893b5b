//! The dining philosophers: both forks at once, or none.

use leno::graph::Graph;

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "philosophers",
    shows: "Five philosophers share five forks. Each joins the channels of its two forks: it takes both\n\
            at once or none, so nobody can hold one and wait for the other.",
    run: philosophers,
    read: "leno::graph, example 43_philosophers, the join of leno::channel",
};

const SEATS: usize = 5;
const ROUNDS: usize = 200;

fn philosophers() -> Result<String, String> {
    let mut graph = Graph::nondeterministic().parallel(2);
    let (meals, eaten) = graph.channel::<usize>(SEATS);
    let forks: Vec<_> = (0..SEATS).map(|n| graph.named::<()>(format!("fork {n}"), 1)).collect();
    for seat in 0..SEATS {
        let (left, right) = (&forks[seat], &forks[(seat + 1) % SEATS]);
        let both = graph.join((left.1.clone(), right.1.clone()));
        let ends = (both, left.0.clone(), right.0.clone(), meals.clone());
        graph.node(format!("philosopher {seat}"), ends, move |cx, (both, left, right, meals)| {
            for _ in 0..ROUNDS {
                if both.receive(cx).is_none() {
                    return;
                }
                meals.send(cx, seat);
                left.send(cx, ());
                right.send(cx, ());
            }
        });
    }
    let table: Vec<_> = forks.into_iter().map(|(give, _)| give).collect();
    graph.node("table", table, |cx, table| table.iter().for_each(|fork| _ = fork.send(cx, ())));
    drop(meals);
    let run = graph.build().map_err(|error| error.to_string())?;
    let (mut each, mut changes, mut last) = ([0; SEATS], 0, None);
    for seat in run.outlet(eaten).take(SEATS * ROUNDS) {
        each[seat] += 1;
        changes += usize::from(last.replace(seat) != Some(seat));
    }
    say!("on two cores: {each:?} meals, the table went to another one {changes} times");
    expect(&each, &[ROUNDS; SEATS])?;
    Ok(format!("{} meals, nobody starved", SEATS * ROUNDS))
}
