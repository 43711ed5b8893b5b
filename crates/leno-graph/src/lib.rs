//! Graphs of nodes that talk through channels, after Porsev 2023: dataflow whose result cannot depend on
//! the schedule, or may; on one thread or on several cores; checked before it runs.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_graph::` as `leno::graph::`.
//!
//! ```
//! use leno_graph::Graph;
//!
//! let mut graph = Graph::deterministic().parallel(2); // the mode comes first
//! let (tx, squares) = graph.channel(1);
//! graph.node("squares", tx, |cx, tx| {
//!     for i in 0..5 {
//!         tx.send(cx, i * i);
//!     }
//! });
//! let (tx, cubes) = graph.channel(1);
//! graph.node("cubes", tx, |cx, tx| (0..5).for_each(|i| _ = tx.send(cx, i * i * i)));
//! let pairs = graph.join((squares, cubes));
//! let run = graph.build()?; // checks, and takes the graph
//! for (square, cube) in run.outlet(pairs) {
//!     println!("{square} {cube}"); // 0 0, 1 1, 4 8, 9 27, 16 64: in every mode
//! }
//! # Ok::<(), leno_graph::BuildError>(())
//! ```
//!
//! # Two stages
//! A [`Graph`] is described: channels ([`channel`](Graph::channel), or [`wire`](Graph::wire) for graphs made
//! from data), nodes ([`node`](Graph::node), [`stackless`](Graph::stackless),
//! [`free_node`](Graph::free_node)), [`join`](Graph::join) and [`select`](Graph::select). Ends are tokens
//! then, [`Input`] and [`Output`], that can do nothing. `build` takes the graph, checks it, and gives a
//! [`Run`], which opens the ends that were kept: [`Run::outlet`], [`Run::inlet`]. The first send or receive
//! from outside starts it; each node starts when something is first expected from it or for it.
//!
//! # Four modes, one program
//! | | sequential | parallel |
//! | --- | --- | --- |
//! | deterministic | control passes from who needs to who gives, and back; no queue | a coroutine for each node, on several cores |
//! | non-deterministic | an [`EventLoop`] | the same, channels with many ends |
//!
//! Bodies and messages of sequential graphs need not be `Send`. A body written for a [`NodeCx`] runs in all
//! four. What makes a result depend on the schedule does not compile in a deterministic graph: a second
//! sender or receiver (ends cannot be cloned), `select`, and nodes that see a clock or try
//! ([`FreeCx`]). Where ends are taken one by one from a [`Wire`], `build` refuses it, and names the channel
//! and the nodes. What a body reads by other means than leno's is its author's promise.
//!
//! # Waiting for other things
//! A node may wait for anything else, too. With a stack it calls what blocks: in a sequential graph that parks
//! whoever runs the graph, in a parallel one the node. A [`stackless`](Graph::stackless) node awaits any future.
//! Nodes that only compute are preempted if the graph has a [`quantum`](Graph::quantum).
//!
//! # What is certain
//! [`Graph::guarantees`] says before it runs whether nodes can come to wait for each other for ever; if they
//! do, [`Outlet::try_receive`] says who waits for what ([`Deadlock`]). [`Run::dot`] and [`Run::svg`] draw the
//! graph with what has gone through it.
//!
//! Invariants: nothing runs before a send or receive from outside; an attempt to receive takes everything or
//! nothing, and nobody sees one that is rolled back; a message is never lost, doubled or reordered; a node's
//! ends are closed and cancelled when it ends. Deliberately not here: clocks and sockets, which are the
//! kernel's and leno-io's; changing a graph while it runs.
#![forbid(unsafe_code)]

mod channel;
mod check;
mod cx;
mod ends;
mod error;
mod event_loop;
mod flat;
mod futures;
mod graph;
mod guarantees;
mod join;
mod joinable;
mod mode;
mod parallel;
mod picture;
mod plan;
mod rates;
mod receiver;
mod run;
mod select;
mod sender;
mod sequential;
mod source;
mod state;

pub use cx::{FreeCx, FutureCx, NodeCx};
pub use ends::{Ends, Input, Output};
pub use error::{BuildError, Deadlock, Until, Wait};
pub use event_loop::EventLoop;
pub use flat::Flat;
pub use futures::{ReceiveFuture, SendFuture, SendStatus};
pub use graph::{Chosen, Graph, Wire};
pub use guarantees::{Guarantees, Progress};
pub use join::{Join, JoinAll};
pub use joinable::Joinable;
pub use mode::{Determinism, Deterministic, NonDeterministic, Parallel, Schedule, Sequential};
pub use receiver::{Outlet, Receiver};
pub use run::{NodeId, Run, Temperature};
pub use select::{Select, Side};
pub use sender::{Inlet, Sender};
pub use source::{Source, Tap};
pub use state::Counters;
