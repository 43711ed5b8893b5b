//! Dining philosophers: a fork is a message in a channel of its own, and a philosopher receives from a join
//! of two. A join takes both or neither, so nobody ever holds one fork and waits for the other; there is no
//! order to keep, no waiter and no lock. On two cores, and under many schedules on purpose.

use leno::explore::Explorer;
use leno::graph::Graph;

const SEATS: usize = 5;

/// Everyone dines so often; who left the table, and when everyone had left.
fn dinner(cores: usize, rounds: usize) -> Vec<usize> {
    let mut graph = Graph::nondeterministic().parallel(cores);
    let forks: Vec<_> = (0..SEATS).map(|fork| graph.named(format!("fork {fork}"), 1)).collect();
    let (leave, left) = graph.channel(SEATS);
    for seat in 0..SEATS {
        let ((lay_left, take_left), (lay_right, take_right)) =
            (&forks[seat], &forks[(seat + 1) % SEATS]);
        let both = graph.join((take_left.clone(), take_right.clone()));
        let ends = (both, lay_left.clone(), lay_right.clone(), leave.clone());
        graph.node(format!("philosopher {seat}"), ends, move |cx, (both, left, right, leave)| {
            for _ in 0..rounds {
                let (one, other) = both.receive(cx).expect("forks come back");
                // Eats.
                left.send(cx, one);
                right.send(cx, other);
            }
            leave.send(cx, seat);
        });
    }
    let table: Vec<_> = forks.into_iter().map(|(lay, _)| lay).collect();
    graph.node("table", table, |cx, table| {
        table.iter().enumerate().for_each(|(number, fork)| _ = fork.send(cx, number));
    });
    drop(leave);
    let run = graph.build().expect("it is right");
    run.outlet(left).take(SEATS).collect()
}

fn main() {
    let mut left = dinner(2, 100);
    left.sort_unstable();
    println!("after 100 meals each, these have left: {left:?}");
    let summary = Explorer::new().runs(50).run(|| {
        let mut left = dinner(1, 2);
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2, 3, 4]);
    });
    println!("the same under {} schedules", summary.expect("no schedule fails").runs());
}
