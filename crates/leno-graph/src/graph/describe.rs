//! Channels and nodes of a graph that is being described, written once for both schedules: bodies and
//! messages of parallel graphs are `Send`, those of sequential ones need not be.

use core::future::Future;

use super::{Graph, Wire};
use crate::channel::{Channel, Link};
use crate::cx::{FreeCx, FutureCx, NodeCx};
use crate::ends::{Ends, Input, Output, Registered, UsableIn};
use crate::mode::{Determinism, NonDeterministic, Parallel, Sealed as _, Sequential};
use crate::run::NodeId;
use crate::sender::Sender;
use crate::source::Tap;
use crate::{parallel, sequential};

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
            /// The future may await other futures besides its ends. In a sequential deterministic graph
            /// nobody else can go on then, so whoever runs the graph parks until the node is woken.
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
                self.plan.add_node(name.into(), false, registered, starter)
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
                self.plan.add_node(name, false, registered, starter)
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
                self.plan.add_node(name, is_free, registered, starter)
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
    sequential::on_stack,
    sequential::as_future,
    sequential::iterator
);
described!(
    Parallel,
    std::sync::Arc<dyn Link<Parallel> + Send + Sync>,
    [Send+],
    parallel::on_stack,
    parallel::as_future,
    parallel::iterator
);
