//! Graphs, in four modes.

use leno::graph::Graph;

use crate::area::Act;
use crate::bomb::{Bomb, Later};
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("graph_deterministic", deterministic),
    ("graph_free", free),
    ("graph_deterministic_parallel", deterministic_parallel),
    ("graph_free_parallel", free_parallel),
];

/// An iterator that misbehaves.
struct Items(Bomb, u8);

impl Iterator for Items {
    type Item = Bomb;

    fn next(&mut self) -> Option<Bomb> {
        self.0.fire(crate::bomb::Hook::Body);
        self.1 = self.1.checked_sub(1)?;
        Some(Bomb::new(self.1))
    }
}

/// Writes one graph for each mode: their types differ, their code does not.
macro_rules! graph {
    ($graph:expr, $y:expr, $z:expr) => {{
        let (y, z) = ($y, $z);
        let mut graph = $graph;
        let (tx, made) = graph.channel::<Bomb>(usize::from(y % 3) + 1);
        graph.iterate("items", tx, Items(Bomb::new(z), y % 5));
        let (tx, passed) = graph.channel::<Bomb>(1);
        let captured = Bomb::new(z.wrapping_add(1));
        graph.node("passes", (made, tx), move |cx, (rx, tx)| {
            captured.check();
            for bomb in rx.iter(cx) {
                world::run(&Cx::default(), z);
                if !tx.send(cx, bomb) {
                    break;
                }
            }
        });
        let (tx, late) = graph.channel::<Bomb>(1);
        graph.stackless("late", (passed, tx), move |cx, (rx, tx)| async move {
            while let Some(bomb) = rx.receive_async(&cx).await {
                drop(Later::new(y, z).await);
                tx.send_async(&cx, bomb).await;
            }
        });
        let Ok(run) = graph.build() else { return };
        let outlet = run.outlet(late);
        for _ in 0..y % 6 {
            match outlet.checked_receive() {
                Ok(Some(bomb)) => bomb.check(),
                Ok(None) => break,
                Err(halt) => {
                    drop(halt.to_string());
                    break;
                }
            }
        }
        if y % 3 == 0 {
            outlet.cancel();
        }
        drop(run.counters());
        if y % 4 == 0 {
            drop(outlet);
            drop(run.finish());
        }
    }};
}

fn deterministic(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    graph!(Graph::deterministic().sequential(), y, z);
}

fn free(_: &Cx<'_>, _: u8, y: u8, z: u8) {
    graph!(Graph::nondeterministic().sequential(), y, z);
}

fn deterministic_parallel(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    graph!(Graph::deterministic().parallel(1 + usize::from(x % 2)), y, z);
}

fn free_parallel(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    graph!(Graph::nondeterministic().parallel(1 + usize::from(x % 2)), y, z);
}
