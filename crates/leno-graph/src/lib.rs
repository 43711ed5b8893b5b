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
//! # Bodies that are functions
//! A body is a closure, or a function that is written once for all modes: over the [`Schedule`]. An end to
//! receive from one channel is a [`Receiver`] of a [`Tap`]; one that takes a join as well is over its
//! [`Source`].
//! ```
//! use leno_graph::{Graph, NodeCx, Receiver, Schedule, Sender, Source, Tap};
//!
//! fn double<S: Schedule>(
//!     cx: &NodeCx<'_, S>,
//!     (rx, tx): (Receiver<Tap<u32, S>>, Sender<u32, S>),
//! ) {
//!     rx.iter(cx).for_each(|n| _ = tx.send(cx, 2 * n));
//! }
//!
//! /// How many messages come, of one channel or of several that are joined.
//! fn count<X: Source>(cx: &NodeCx<'_, X::S>, (rx, tx): (Receiver<X>, Sender<usize, X::S>)) {
//!     tx.send(cx, rx.iter(cx).count());
//! }
//!
//! /// What a body is told besides is captured by the closure that it is then.
//! fn times<S: Schedule>(
//!     factor: u32,
//! ) -> impl FnOnce(&NodeCx<'_, S>, (Receiver<Tap<u32, S>>, Sender<u32, S>)) {
//!     move |cx, (rx, tx)| rx.iter(cx).for_each(|n| _ = tx.send(cx, factor * n))
//! }
//!
//! let mut graph = Graph::deterministic().sequential();
//! let (tx, numbers) = graph.channel(1);
//! graph.iterate("numbers", tx, 1..=3);
//! let (tx, doubled) = graph.channel(1);
//! graph.node("double", (numbers, tx), double);
//! let (tx, six_times) = graph.channel(1);
//! graph.node("times 3", (doubled, tx), times(3));
//! let (tx, other) = graph.channel(1);
//! graph.iterate("other", tx, 0..10);
//! let pairs = graph.join((six_times, other));
//! let (tx, how_many) = graph.channel(1);
//! graph.node("count", (pairs, tx), count);
//! assert_eq!(graph.build()?.outlet(how_many).receive(), Some(3));
//! # Ok::<(), leno_graph::BuildError>(())
//! ```
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
//! do, [`Outlet::checked_receive`] says who waits for what ([`Deadlock`]). [`Run::dot`] and [`Run::svg`] draw the
//! graph with what has gone through it.
//!
//! # When a node panics
//! No result is taken for whole that is not, in any mode. What a node sent before it panicked can be received,
//! and then, instead of the close, [`Outlet::receive`] and [`Run::finish`] panic as the node did: the first of
//! them with what it panicked with, those after it with a message that names it. [`Outlet::checked_receive`]
//! gives [`Halt::Panicked`] instead. Other nodes do not see a close either: who receives from, or sends to, the
//! one that panicked unwinds, and so do those around it in turn; nodes that have nothing to do with it go on, and
//! what they send ends well.
//! If several panic, the first one counts. Dropping the [`Run`] ends all others, and does not panic. A panic
//! that a body catches is its own affair: ends that it has dropped are closed when it next sends, receives or
//! waits. An outlet that is used after its [`Run`] was dropped says so
//! ([`Halt::Dropped`]) unless all was sent before.
//!
//! Invariants: nothing runs before a send or receive from outside; an attempt to receive takes everything or
//! nothing, and nobody overtakes one that is rolled back; a message is never lost, doubled or reordered; a node's
//! ends are closed and cancelled when it returns, and cut when it panics. Deliberately not here: clocks and sockets, which are the
//! kernel's and leno-io's; changing a graph while it runs.
#![forbid(unsafe_code)]

mod channel;
mod check;
mod cx;
mod ends;
mod error;
mod event_loop;
mod fate;
mod flat;
mod futures;
mod graph;
mod guarantees;
mod join;
mod joinable;
mod lock;
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
mod woken;

pub use cx::{FreeCx, FutureCx, NodeCx};
pub use ends::{Ends, Input, Output};
pub use error::{BuildError, Deadlock, Halt, Until, Wait};
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
