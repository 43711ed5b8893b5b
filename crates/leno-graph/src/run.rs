//! A graph that is built, and runs when something is sent into it or received from it.

use core::marker::PhantomData;

use leno_kernel::layer::user;

use crate::channel::Link as _;
use crate::ends::{Input, Output};
use crate::error::Deadlock;
use crate::fate;
use crate::guarantees::Guarantees;
use crate::mode::{Determinism, Parallel, Schedule, Sequential};
use crate::parallel::Host;
use crate::plan::Shape;
use crate::receiver::Outlet;
use crate::sender::Inlet;
use crate::source::Source;
use crate::state::Counters;

/// A graph that is built. Nothing runs before the first send or receive from outside; then each node
/// starts when something is first expected from it, or for it. Dropping it ends all its nodes, so keep it
/// while its ends are used: an [`Outlet`] whose graph was dropped before everything was sent panics, for
/// what it has given is not all. Dropping it raises no panic of a node; [`finish`](Run::finish) does.
/// If destructors of what is dropped with it panic, the rest is dropped all the same: a sequential graph then goes on
/// with the first panic; in a parallel one it is a failure of the node's coroutine.
pub struct Run<D: Determinism, S: Schedule> {
    pub(crate) core: S::Core,
    /// All its channels; what runs it does not keep them.
    pub(crate) wires: Vec<S::Any>,
    pub(crate) shape: Shape,
    pub(crate) guarantees: Guarantees,
    /// The graphs that it consists of, and where their nodes begin.
    pub(crate) ids: Vec<(u64, usize)>,
    pub(crate) host: S::Host,
    pub(crate) kind: PhantomData<D>,
}

/// One node of a graph; also where that graph is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId {
    pub(crate) graph: u64,
    /// Which of its graph's nodes it is.
    pub(crate) index: usize,
}

impl NodeId {
    /// Which of all nodes it is, where the nodes of these graphs begin so.
    #[track_caller]
    pub(crate) fn place(self, ids: &[(u64, usize)]) -> usize {
        let known = ids.iter().find(|(graph, _)| *graph == self.graph);
        let (_, first) = known.expect("a node belongs to the graph that is asked about it");
        first + self.index
    }
}

/// Whether a node has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temperature {
    /// It has not started: nothing has been expected from it or for it yet.
    Cold,
    /// It has started.
    Hot,
    /// Its body has returned, panicked, or was ended with the graph.
    Ended,
}

impl Temperature {
    pub(crate) fn is_ended(self) -> bool {
        self == Temperature::Ended
    }
}

impl<D: Determinism, S: Schedule> Run<D, S> {
    /// Opens an end to receive from outside. It does not keep the graph: when the [`Run`] is dropped, it
    /// gives what is in its channel, and then panics, unless that was all ([`Halt::Dropped`](crate::Halt)).
    ///
    /// # Panics
    /// If it is of another graph.
    #[track_caller]
    pub fn outlet<X: Source<S = S>, K: Determinism>(&self, end: Input<X, K>) -> Outlet<X> {
        assert!(self.has(end.graph), "an end to receive from belongs to another graph");
        Outlet::new(end.source)
    }

    /// Opens an end to send through from outside.
    ///
    /// # Panics
    /// If it is of another graph.
    #[track_caller]
    pub fn inlet<T, K: Determinism>(&self, end: Output<T, K, S>) -> Inlet<T, S> {
        let name = &end.tip.channel.name;
        assert!(self.has(end.graph), "channel '{name}' belongs to another graph");
        Inlet::new(end.tip)
    }

    fn has(&self, graph: u64) -> bool {
        self.ids.iter().any(|(own, _)| *own == graph)
    }

    /// What was certain of it before it ran.
    pub fn guarantees(&self) -> &Guarantees {
        &self.guarantees
    }

    /// What a node is called.
    ///
    /// # Panics
    /// If it is of another graph.
    #[track_caller]
    pub fn name(&self, node: NodeId) -> &str {
        &self.shape.nodes[node.place(&self.ids)].name
    }

    /// Whether a node has run.
    ///
    /// # Panics
    /// If it is of another graph.
    #[track_caller]
    pub fn temperature(&self, node: NodeId) -> Temperature {
        S::temperature(&self.core, node.place(&self.ids))
    }

    /// What has gone through each channel, by name, in the order in which they were made.
    pub fn counters(&self) -> Vec<(String, Counters)> {
        self.wires.iter().map(|wire| (wire.name().to_owned(), wire.counters())).collect()
    }
}

impl<D: Determinism> Run<D, Sequential> {
    /// Starts a node that is cold, though nothing is expected from it yet: in a deterministic graph it
    /// runs now until it first waits, in others when its turn comes.
    ///
    /// # Panics
    /// With the panic of the node; if it is of another graph.
    #[track_caller]
    pub fn start(&self, node: NodeId) {
        self.core.start_early(node.place(&self.ids));
    }

    /// Runs all nodes that have started, and those for which there are messages, to their ends. When it
    /// returns, no node has panicked.
    ///
    /// # Blocking
    /// The calling thread, or coroutine.
    ///
    /// # Errors
    /// When some can never go on, unless someone outside sends or receives: who waits for what.
    ///
    /// # Panics
    /// With the panic of a node, after the others have ended: see [`Outlet::receive`].
    #[track_caller]
    pub fn finish(&self) -> Result<(), Deadlock> {
        self.core.finish()
    }
}

impl<D: Determinism> Run<D, Parallel> {
    /// Starts a node that is cold, though nothing is expected from it yet.
    ///
    /// # Panics
    /// If it is of another graph.
    #[track_caller]
    pub fn start(&self, node: NodeId) {
        <Parallel as crate::mode::Sealed>::start(&self.core, node.place(&self.ids));
    }

    /// Waits until all nodes that have started have ended. When it returns, no node has panicked.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Errors
    /// When some can never go on, unless someone outside sends or receives: who waits for what.
    ///
    /// # Panics
    /// With the panic of a node, after the others have ended: see [`Outlet::receive`].
    #[track_caller]
    pub fn finish(&self) -> Result<(), Deadlock> {
        self.core.finish()
    }

    /// How many cores run it; `None` if those of the system in which it was built.
    pub fn cores(&self) -> Option<usize> {
        match &self.host {
            Host::Own(system) => Some(system.cores()),
            Host::Here => None,
        }
    }
}

impl<D: Determinism, S: Schedule> Drop for Run<D, S> {
    fn drop(&mut self) {
        let drained = user::call(|| S::drain(&self.core));
        // Channels hold iterators, which may panic, too.
        let dropped = user::call(|| fate::dispose_all(self.wires.drain(..)));
        fate::raise(user::first(drained.err(), dropped.err()));
    }
}
