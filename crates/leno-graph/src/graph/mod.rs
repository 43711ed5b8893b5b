//! Describing a graph: its mode, how its channels go together, and what is known of its nodes.
//!
//! `describe.rs` adds channels and nodes, `build.rs` ends it. A description is a [`Plan`]; nothing runs, and
//! what is wrong is kept until `build` can say so.

mod build;
mod describe;

use core::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use leno_kernel::Budget;

use crate::channel::Channel;
use crate::ends::Input;
use crate::error::BuildError;
use crate::joinable::Joinable;
use crate::mode::{Determinism, Deterministic, NonDeterministic, Parallel, Schedule, Sequential};
use crate::plan::{Group, Plan};
use crate::run::NodeId;
use crate::select::Select;
use crate::source::Source;

/// A graph of nodes and channels that is being described. [`build`](Graph::build) ends that, and gives a
/// [`Run`](crate::Run); nothing runs before.
///
/// The mode is chosen first: [`Graph::deterministic`] or [`Graph::nondeterministic`], then
/// [`sequential`](Chosen::sequential) or [`parallel`](Chosen::parallel).
///
/// # Examples
/// ```
/// use leno_graph::Graph;
///
/// let mut graph = Graph::deterministic().parallel(2);
/// let (tx, squares) = graph.channel(1);
/// graph.node("squares", tx, |cx, tx| (0..5).for_each(|i| { tx.send(cx, i * i); }));
/// let (tx, cubes) = graph.channel(1);
/// graph.node("cubes", tx, |cx, tx| (0..5).for_each(|i| { tx.send(cx, i * i * i); }));
/// let pairs = graph.join((squares, cubes));
/// let run = graph.build()?;
/// let pairs: Vec<_> = run.outlet(pairs).collect();
/// assert_eq!(pairs, [(0, 0), (1, 1), (4, 8), (9, 27), (16, 64)]);
/// # Ok::<(), leno_graph::BuildError>(())
/// ```
#[must_use = "a graph does nothing before it is built"]
pub struct Graph<D: Determinism = Deterministic, S: Schedule = Sequential> {
    id: u64,
    plan: Plan<S>,
    /// 0 for those of the system in which it is built.
    cores: usize,
    grows: bool,
    quantum: Budget,
    kind: PhantomData<D>,
}

/// A kind of graph, whose schedule is to be chosen.
#[must_use]
pub struct Chosen<D: Determinism> {
    kind: PhantomData<D>,
}

impl Graph {
    /// A graph whose result cannot depend on the schedule.
    pub fn deterministic() -> Chosen<Deterministic> {
        Chosen { kind: PhantomData }
    }

    /// A graph that may do anything.
    pub fn nondeterministic() -> Chosen<NonDeterministic> {
        Chosen { kind: PhantomData }
    }
}

impl<D: Determinism> Chosen<D> {
    /// All on the thread that sends or receives from outside: bodies and messages need not be `Send`.
    pub fn sequential(self) -> Graph<D, Sequential> {
        Graph::new(1)
    }

    /// On so many cores of its own.
    pub fn parallel(self, cores: usize) -> Graph<D, Parallel> {
        Graph::new(cores.max(1))
    }

    /// On the cores of the system in which it is built: for graphs inside nodes of other graphs, and in
    /// programs that have a system already.
    pub fn parallel_here(self) -> Graph<D, Parallel> {
        Graph::new(0)
    }
}

/// A channel of a graph that is made from data: how many ends it has is checked by
/// [`build`](Graph::build), not by the compiler. See [`Graph::wire`].
pub struct Wire<T, S: Schedule> {
    channel: S::Ref<Channel<T, S>>,
}

impl<D: Determinism, S: Schedule> Graph<D, S> {
    fn new(cores: usize) -> Graph<D, S> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (plan, quantum) = (Plan::new(id), Budget::Unlimited);
        Graph { id, plan, cores, grows: false, quantum, kind: PhantomData }
    }

    /// Joins several ends to receive from into one that gives a message of each, or nothing: no other
    /// receiver sees a channel from which it has taken and then not used a message. It is closed as soon
    /// as one of them is, and then cancels the others.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn join<J: Joinable<D>>(&mut self, ends: J) -> Input<J::Source, D>
    where
        J::Source: Source<S = S>,
    {
        let mut graphs = Vec::new();
        let source = ends.join(&mut graphs);
        assert!(!graphs.is_empty(), "a join of no channels");
        self.combined(source, &graphs, true)
    }

    fn combined<X: Source<S = S>, K: Determinism>(
        &mut self,
        source: X,
        graphs: &[u64],
        is_join: bool,
    ) -> Input<X, K> {
        let (mut wires, mut names) = (Vec::new(), Vec::new());
        source.each(&mut |wire| {
            wires.push(wire.number());
            names.push(wire.name().to_owned());
        });
        self.plan.groups.push(Group { wires, is_join });
        if graphs.iter().any(|graph| !self.plan.knows(*graph)) {
            let channel = names.join("', '");
            self.plan.errors.push(BuildError::Foreign { channel, node: "a join or select".into() });
        }
        Input::new(source, self.id)
    }

    /// Has full channels grow where everyone would else wait for ever, the smallest first. By default
    /// that is a [`Deadlock`](crate::Deadlock).
    pub fn growing(mut self) -> Graph<D, S> {
        self.grows = true;
        self
    }

    /// Says that a node's rates are fixed: each time it fires it takes so many messages of each of its
    /// inputs, and gives so many to each of its outputs, in the order in which it was given them. Where
    /// all nodes have fixed rates, [`build`](Graph::build) finds out whether they fit, and how much room
    /// channels need.
    ///
    /// # Panics
    /// If there are more or fewer rates than ends, or one is 0; if the node is of another graph.
    #[track_caller]
    pub fn rates(&mut self, node: NodeId, inputs: &[u64], outputs: &[u64]) {
        let about = self.plan.about(node);
        let fits = about.inputs.len() == inputs.len() && about.outputs.len() == outputs.len();
        assert!(fits, "node '{}' has other ends than these rates are for", about.name);
        let is_some = inputs.iter().chain(outputs).all(|rate| *rate > 0);
        assert!(is_some, "a rate of node '{}' is 0", about.name);
        about.rates = Some((inputs.to_vec(), outputs.to_vec()));
    }

    /// Says how many messages a node of fixed rates sends to each of its outputs before it first fires:
    /// what a cycle needs to begin.
    ///
    /// # Panics
    /// If there are more or fewer than outputs; if the node is of another graph.
    #[track_caller]
    pub fn primes(&mut self, node: NodeId, outputs: &[u64]) {
        let about = self.plan.about(node);
        let fits = about.outputs.len() == outputs.len();
        assert!(fits, "node '{}' has another number of outputs", about.name);
        about.first = Some(outputs.to_vec());
    }
}

impl<D: Determinism> Graph<D, Parallel> {
    /// Has nodes with stacks give way after so much: they are preempted where they count units (in
    /// functions with `#[preemptible]`, at `safepoint!` and `charge`, and when they send and receive), and
    /// others of the same core run in between. By default a node runs until it waits. What comes out of a
    /// deterministic graph is the same. Nodes that are futures are not preempted.
    ///
    /// # Examples
    /// ```
    /// use leno_graph::Graph;
    /// use leno_kernel::{Budget, charge};
    ///
    /// let mut graph = Graph::deterministic().parallel(1).quantum(Budget::units(100));
    /// let mut sums = Vec::new();
    /// for n in [1_000_u64, 10] {
    ///     let (tx, sum) = graph.channel(1);
    ///     graph.node(format!("to {n}"), tx, move |cx, tx| {
    ///         tx.send(cx, (0..=n).inspect(|_| charge(1)).sum::<u64>());
    ///     });
    ///     sums.push(sum);
    /// }
    /// let sums = graph.join(sums);
    /// assert_eq!(graph.build()?.outlet(sums).receive(), Some(vec![500_500, 55]));
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    pub fn quantum(mut self, quantum: Budget) -> Graph<D, Parallel> {
        self.quantum = quantum;
        self
    }
}

impl<S: Schedule> Graph<NonDeterministic, S> {
    /// Selects from two ends to receive from: a message of whichever has one, and which it was. It is
    /// closed when both are.
    pub fn select<A, B, K, L>(
        &mut self,
        left: Input<A, K>,
        right: Input<B, L>,
    ) -> Input<Select<A, B>, NonDeterministic>
    where
        A: Source<S = S>,
        B: Source<S = S>,
        K: Determinism,
        L: Determinism,
    {
        let graphs = [left.graph, right.graph];
        self.combined(Select { left: left.source, right: right.source }, &graphs, false)
    }

    /// Takes in a deterministic graph, with all its nodes and channels: its rules hold for it as before,
    /// and its ends can be used in this graph. See also [`Input::freed`].
    ///
    /// # Errors
    /// What [`build`](Graph::build) would say of it.
    pub fn embed(&mut self, mut inner: Graph<Deterministic, S>) -> Result<(), BuildError> {
        inner.checked()?;
        self.plan.embed(inner.plan);
        Ok(())
    }
}
