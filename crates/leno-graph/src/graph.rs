//! Describing a graph.

use core::cell::RefCell;
use core::future::Future;
use core::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use leno_kernel::System;

use crate::channel::{Channel, Link};
use crate::check::check;
use crate::cx::{FreeCx, FutureCx, NodeCx};
use crate::ends::{Ends, Input, Output, Registered, UsableIn};
use crate::error::BuildError;
use crate::guarantees::{Guarantees, progress};
use crate::joinable::Joinable;
use crate::mode::{
    Determinism, Deterministic, NonDeterministic, Parallel, Schedule, Sealed as _, Sequential,
};
use crate::parallel::{self, Host};
use crate::plan::{Plan, Shape};
use crate::rates;
use crate::run::{NodeId, Run};
use crate::select::Select;
use crate::sender::Sender;
use crate::sequential::{self, Runner};
use crate::source::{Source, Tap};

/// A graph of nodes and channels that is being described. [`build`](Graph::build) ends that, and gives a
/// [`Run`]; nothing runs before.
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
        Graph { id, plan: Plan::new(id), cores, grows: false, kind: PhantomData }
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
        self.combined(source, &graphs)
    }

    fn combined<X: Source<S = S>, K: Determinism>(
        &mut self,
        source: X,
        graphs: &[u64],
    ) -> Input<X, K> {
        let (mut group, mut names) = (Vec::new(), Vec::new());
        source.each(&mut |wire| {
            group.push(wire.number());
            names.push(wire.name().to_owned());
        });
        self.plan.groups.push(group);
        if graphs.iter().any(|graph| !self.plan.ids.contains(graph)) {
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
    /// If there are more or fewer rates than ends, or one is 0.
    #[track_caller]
    pub fn rates(&mut self, node: NodeId, inputs: &[u64], outputs: &[u64]) {
        let about = &mut self.plan.nodes[node.0].about;
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
    /// If there are more or fewer than outputs.
    #[track_caller]
    pub fn primes(&mut self, node: NodeId, outputs: &[u64]) {
        let about = &mut self.plan.nodes[node.0].about;
        let fits = about.outputs.len() == outputs.len();
        assert!(fits, "node '{}' has another number of outputs", about.name);
        about.first = Some(outputs.to_vec());
    }

    /// What is certain of the graph as it is now.
    ///
    /// # Errors
    /// What [`build`](Graph::build) would say of it.
    ///
    /// # Examples
    /// ```
    /// let mut graph = leno_graph::Graph::deterministic().sequential();
    /// let (tx, _rx) = graph.channel::<i32>(1);
    /// graph.node("one", tx, |_, _| {});
    /// let certain = graph.guarantees()?;
    /// assert!(certain.progress.is_certain());
    /// assert!(certain.to_string().contains("result      the same under every schedule"));
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    pub fn guarantees(&mut self) -> Result<Guarantees, BuildError> {
        let shape = self.checked()?;
        Ok(self.guarantees_of(&shape))
    }

    fn guarantees_of(&self, shape: &Shape) -> Guarantees {
        Guarantees {
            is_deterministic: D::DETERMINISTIC,
            is_parallel: S::IS_PARALLEL,
            progress: progress(shape, self.grows),
        }
    }

    /// Checks everything, and what the graph is like.
    fn checked(&mut self) -> Result<Shape, BuildError> {
        if !self.plan.errors.is_empty() {
            return Err(self.plan.errors[0].clone());
        }
        let mut shape = self.plan.shape();
        check(&shape, D::DETERMINISTIC)?;
        let room = rates::room(&shape)?;
        for ((wire, about), room) in self.plan.wires.iter().zip(&mut shape.wires).zip(room) {
            if let Some(room) = room {
                about.capacity = about.capacity.max(room as usize);
                wire.set_capacity(about.capacity);
            }
        }
        Ok(shape)
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
        self.combined(Select { left: left.source, right: right.source }, &graphs)
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

macro_rules! described {
    ($schedule:ty, $any:ty, [$($send:tt)*], $on_stack:expr, $as_future:expr, $iterator:expr) => {
        impl<D: Determinism> Graph<D, $schedule> {
            /// Makes a channel with room for so many messages: an end to send through, and one to
            /// receive from.
            pub fn channel<T: $($send)* 'static>(
                &mut self,
                capacity: usize,
            ) -> (Output<T, D, $schedule>, Input<Tap<T, $schedule>, D>) {
                let wire = self.make(None, capacity);
                (self.output(&wire), self.input(&wire))
            }

            /// The same, with a name for messages and pictures.
            pub fn named<T: $($send)* 'static>(
                &mut self,
                name: impl Into<String>,
                capacity: usize,
            ) -> (Output<T, D, $schedule>, Input<Tap<T, $schedule>, D>) {
                let wire = self.make(Some(name.into()), capacity);
                (self.output(&wire), self.input(&wire))
            }

            /// Makes a channel whose ends are taken one by one, by [`Self::output`] and
            /// [`Self::input`]: for graphs that are made from data. [`Self::build`] checks how many there
            /// are.
            ///
            /// # Examples
            /// ```
            /// use leno_graph::Graph;
            ///
            /// let mut graph = Graph::deterministic().sequential();
            /// let queue = graph.wire("queue", 1);
            /// for data in [1, 8] {
            ///     let out = graph.output(&queue);
            ///     graph.node(format!("twice {data}"), out, move |cx, out| { out.send(cx, 2 * data); });
            /// }
            /// let results = graph.input(&queue);
            /// let error = graph.build().err().unwrap().to_string();
            /// assert!(error.contains("'queue' has multiple senders: 'twice 1' and 'twice 8'"));
            /// # drop(results);
            /// ```
            pub fn wire<T: $($send)* 'static>(
                &mut self,
                name: impl Into<String>,
                capacity: usize,
            ) -> Wire<T, $schedule> {
                self.make(Some(name.into()), capacity)
            }

            fn make<T: $($send)* 'static>(
                &mut self,
                name: Option<String>,
                capacity: usize,
            ) -> Wire<T, $schedule> {
                let channel = <$schedule>::refer(Channel::new(name, capacity));
                let any: $any = channel.clone();
                self.plan.wires.push(any);
                Wire { channel }
            }

            /// One more end to send through a channel.
            pub fn output<T: $($send)* 'static>(&mut self, wire: &Wire<T, $schedule>) -> Output<T, D, $schedule> {
                Output::new(wire.channel.clone(), self.id)
            }

            /// One more end to receive from a channel.
            pub fn input<T: $($send)* 'static>(
                &mut self,
                wire: &Wire<T, $schedule>,
            ) -> Input<Tap<T, $schedule>, D> {
                Input::new(Tap::new(wire.channel.clone()), self.id)
            }

            /// Adds a node: a name, all ends that it will use, and a body, which gets them. It starts
            /// when something is first expected from it or for it. Its ends are closed and cancelled
            /// when it ends.
            pub fn node<E, F>(&mut self, name: impl Into<String>, ends: E, body: F) -> NodeId
            where
                E: Ends<D, $schedule>,
                E::Live: $($send)* 'static,
                F: FnOnce(&NodeCx<'_, $schedule>, E::Live) + $($send)* 'static,
            {
                let live = |ends: E| ends.live();
                self.add(name.into(), false, ends, live, move |cx, ends| body(&cx, ends))
            }

            /// Adds a node without a stack: its body gives a future. Otherwise as [`Self::node`].
            ///
            /// # Examples
            /// ```
            /// use leno_graph::Graph;
            ///
            /// let mut graph = Graph::deterministic().sequential();
            /// let (tx, rx) = graph.channel(1);
            /// graph.stackless("squares", tx, |cx, tx| async move {
            ///     for i in 0..5 {
            ///         tx.send_async(&cx, i * i).await;
            ///     }
            /// });
            /// let run = graph.build()?;
            /// assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [0, 1, 4, 9, 16]);
            /// # Ok::<(), leno_graph::BuildError>(())
            /// ```
            pub fn stackless<E, F, B>(&mut self, name: impl Into<String>, ends: E, body: B) -> NodeId
            where
                E: Ends<D, $schedule>,
                E::Live: $($send)* 'static,
                F: Future<Output = ()> + $($send)* 'static,
                B: FnOnce(FutureCx<$schedule>, E::Live) -> F + $($send)* 'static,
            {
                let mut registered = Registered::default();
                ends.register(&mut registered);
                let ends = ends.live();
                let starter = $as_future(move |cx| body(cx, ends));
                NodeId(self.plan.add_node(name.into(), false, registered, starter))
            }

            /// Adds a node that is an iterator: what it gives is sent, until it ends or nobody receives
            /// any more. As [`Self::node`] with a loop, but in a sequential deterministic graph it needs
            /// no stack, and costs little more than the iterator.
            ///
            /// # Examples
            /// ```
            /// use leno_graph::Graph;
            ///
            /// let mut graph = Graph::deterministic().sequential();
            /// let (tx, rx) = graph.channel(1);
            /// graph.iterate("squares", tx, (0..).map(|i| i * i));
            /// let run = graph.build()?;
            /// assert_eq!(run.outlet(rx).take(5).collect::<Vec<_>>(), [0, 1, 4, 9, 16]);
            /// # Ok::<(), leno_graph::BuildError>(())
            /// ```
            pub fn iterate<T, K, I>(
                &mut self,
                name: impl Into<String>,
                output: Output<T, K, $schedule>,
                iterator: I,
            ) -> NodeId
            where
                T: $($send)* 'static,
                K: UsableIn<D>,
                I: IntoIterator<Item = T> + 'static,
                I::IntoIter: $($send)* 'static,
            {
                let (name, mut registered) = (name.into(), Registered::default());
                let end: &dyn Ends<D, $schedule, Live = Sender<T, $schedule>> = &output;
                end.register(&mut registered);
                let sender = Sender { tip: output.tip };
                let starter = $iterator(name.clone(), sender, iterator.into_iter());
                NodeId(self.plan.add_node(name, false, registered, starter))
            }

            fn add<E, L, F>(
                &mut self,
                name: String,
                is_free: bool,
                ends: E,
                live: impl FnOnce(E) -> L,
                body: F,
            ) -> NodeId
            where
                E: Ends<D, $schedule>,
                L: $($send)* 'static,
                F: FnOnce(NodeCx<'_, $schedule>, L) + $($send)* 'static,
            {
                let mut registered = Registered::default();
                ends.register(&mut registered);
                let ends = live(ends);
                let starter = $on_stack(name.clone(), move |cx: NodeCx<'_, $schedule>| body(cx, ends));
                NodeId(self.plan.add_node(name, is_free, registered, starter))
            }
        }

        impl Graph<NonDeterministic, $schedule> {
            /// Adds a node that may depend on more than its input; see [`FreeCx`]. Deterministic graphs
            /// have none.
            pub fn free_node<E, F>(&mut self, name: impl Into<String>, ends: E, body: F) -> NodeId
            where
                E: Ends<NonDeterministic, $schedule>,
                E::Live: $($send)* 'static,
                F: FnOnce(&FreeCx<'_, $schedule>, E::Live) + $($send)* 'static,
            {
                let live = |ends: E| ends.live();
                self.add(name.into(), true, ends, live, move |cx, ends| body(&FreeCx::new(cx), ends))
            }
        }
    };
}

described!(
    Sequential,
    std::rc::Rc<dyn Link<Sequential>>,
    [],
    sequential_starter,
    sequential_future,
    sequential_iterator
);
described!(
    Parallel,
    std::sync::Arc<dyn Link<Parallel> + Send + Sync>,
    [Send+],
    parallel_starter,
    parallel_future,
    parallel_iterator
);

fn sequential_starter(
    name: String,
    body: impl FnOnce(NodeCx<'_, Sequential>) + 'static,
) -> sequential::Starter {
    Box::new(move |core, node| {
        let core = core.clone();
        let made = leno_coroutine::Builder::new().name(name).coroutine(move |suspender, ()| {
            let own = core.clone();
            own.run_body(node, || body(NodeCx::new(core, node, suspender)));
        });
        Runner::Stack(made.unwrap_or_else(|error| panic!("{error}")))
    })
}

fn sequential_future<F: Future<Output = ()> + 'static>(
    body: impl FnOnce(FutureCx<Sequential>) -> F + 'static,
) -> sequential::Starter {
    Box::new(move |core, node| {
        let future = Box::pin(body(FutureCx::new(core.clone(), node)));
        Runner::Future(RefCell::new(future), core.events.waker(node))
    })
}

fn sequential_iterator<T: 'static>(
    name: String,
    sender: Sender<T, Sequential>,
    iterator: impl Iterator<Item = T> + 'static,
) -> sequential::Starter {
    Box::new(move |core, node| {
        if !core.is_chain() {
            let body = move |cx: NodeCx<'_, Sequential>| send_all(&cx, &sender, iterator);
            return sequential_starter(name, body)(core, node);
        }
        sequential::feeds(node, sender, iterator)
    })
}

fn parallel_iterator<T: Send + 'static>(
    name: String,
    sender: Sender<T, Parallel>,
    iterator: impl Iterator<Item = T> + Send + 'static,
) -> parallel::Starter {
    parallel_starter(name, move |cx| send_all(&cx, &sender, iterator))
}

fn send_all<T, S: Schedule>(
    cx: &NodeCx<'_, S>,
    sender: &Sender<T, S>,
    mut iterator: impl Iterator<Item = T>,
) {
    while iterator.next().is_some_and(|value| sender.send(cx, value)) {}
}

fn parallel_future<F: Future<Output = ()> + Send + 'static>(
    body: impl FnOnce(FutureCx<Parallel>) -> F + Send + 'static,
) -> parallel::Starter {
    Box::new(move |core, node| parallel::as_future(core, node, body))
}

fn parallel_starter(
    _: String,
    body: impl FnOnce(NodeCx<'_, Parallel>) + Send + 'static,
) -> parallel::Starter {
    Box::new(move |core, node| parallel::on_stack(core, node, body))
}

impl<D: Determinism> Graph<D, Sequential> {
    /// Checks the graph, and makes it ready to run.
    ///
    /// # Errors
    /// The first rule that it breaks, with the channel and the nodes that break it.
    pub fn build(mut self) -> Result<Run<D, Sequential>, BuildError> {
        let shape = self.checked()?;
        let guarantees = self.guarantees_of(&shape);
        let core = sequential::Core::new(D::DETERMINISTIC, self.grows);
        let nodes = core::mem::take(&mut self.plan.nodes).into_iter();
        core.set(nodes.map(|node| (node.about.name, node.starter)).collect(), &self.plan.wires);
        self.plan.link(&shape, &core, false);
        let Plan { ids, wires, .. } = self.plan;
        Ok(Run { core, wires, shape, guarantees, ids, host: (), kind: PhantomData })
    }
}

impl<D: Determinism> Graph<D, Parallel> {
    /// Checks the graph, and makes it ready to run.
    ///
    /// # Errors
    /// The first rule that it breaks, with the channel and the nodes that break it; or that there are no
    /// cores for it.
    pub fn build(mut self) -> Result<Run<D, Parallel>, BuildError> {
        let shape = self.checked()?;
        let guarantees = self.guarantees_of(&shape);
        let host = match self.cores {
            0 => Host::Here,
            cores => {
                let made = System::builder().cores(cores).name("graph").build();
                Host::Own(made.map_err(|why| BuildError::Cores(why.to_string()))?)
            }
        };
        let core = parallel::Core::new(D::DETERMINISTIC, self.grows);
        self.plan.link(&shape, &core, !D::DETERMINISTIC);
        let nodes = core::mem::take(&mut self.plan.nodes).into_iter();
        let nodes = nodes.map(|node| (node.about.name, node.starter));
        let ends = shape.wires.iter().map(|wire| wire.outside_senders + wire.outside_receivers);
        core.set(&host, nodes.collect(), &self.plan.wires, ends.sum())?;
        let Plan { ids, wires, .. } = self.plan;
        Ok(Run { core, wires, shape, guarantees, ids, host, kind: PhantomData })
    }
}
