//! The stops of the tour, a file each.
//!
//! To add one: a file with a `STOP`, and a line here where the tour should come by. A stop says what
//! it does with `say!`, never `println!`, so that `--json` stays JSON; it takes a few seconds at
//! most, and checks its own result with `expect`.

mod channels;
pub(crate) mod dialogue;
pub(crate) mod explore;
mod failure;
mod fibres;
mod generator;
mod graph;
mod io;
mod million;
mod philosophers;
mod preempt;
mod read_write;
mod ring;
mod santa;
mod system;
mod tree;
mod who;

use super::Stop;

/// All stops, in the order of the tour.
pub(super) const ALL: &[Stop] = &[
    // Coroutines, and what runs them.
    generator::STOP,
    tree::STOP,
    ring::STOP,
    failure::STOP,
    who::STOP,
    million::STOP,
    system::STOP,
    channels::STOP,
    io::STOP,
    // The layers on top.
    fibres::STOP,
    read_write::STOP,
    santa::STOP,
    graph::STOP,
    philosophers::STOP,
    preempt::STOP,
    dialogue::STOP,
    explore::STOP,
];
