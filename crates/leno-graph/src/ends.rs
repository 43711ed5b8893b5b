//! Ends while a graph is described: tokens that are given to nodes, or kept to be opened when the graph
//! is built. They can neither send nor receive. Dropping one closes or cancels it.

use core::marker::PhantomData;

use crate::channel::Channel;
use crate::mode::{Determinism, Deterministic, NonDeterministic, Schedule};
use crate::receiver::Receiver;
use crate::sender::{Sender, Tip};
use crate::source::Source;

/// An end to send through, to be given to a node or kept for outside.
///
/// It is a token, and cannot send. A node sends through the [`Sender`] that its body is given for it: give the
/// token to [`node`](crate::Graph::node), and use what the body gets, not what it captures. Who is outside
/// opens it with [`Run::inlet`](crate::Run::inlet).
///
/// In a deterministic graph there is one of each channel, and no `clone`: with two senders, the order of their
/// messages would depend on the schedule. Make a channel for each, and [`join`](crate::Graph::join) them or
/// receive from one after the other. In non-deterministic graphs it can be cloned.
#[must_use = "dropping it closes the channel"]
pub struct Output<T, D: Determinism, S: Schedule> {
    pub(crate) tip: Tip<T, S>,
    pub(crate) graph: u64,
    kind: PhantomData<D>,
}

/// An end to receive from, to be given to a node or kept for outside, joined or selected.
///
/// It is a token, and cannot receive: a node receives from the [`Receiver`] that its body is given for it, who is
/// outside from what [`Run::outlet`](crate::Run::outlet) makes of it. In a deterministic graph there is one of
/// each channel, for who gets which message would else depend on the schedule; in others it can be cloned.
#[must_use = "dropping it cancels the channel"]
pub struct Input<X: Source, D: Determinism> {
    pub(crate) source: X,
    pub(crate) graph: u64,
    kind: PhantomData<D>,
}

impl<T, D: Determinism, S: Schedule> Output<T, D, S> {
    pub(crate) fn new(channel: S::Ref<Channel<T, S>>, graph: u64) -> Self {
        Output { tip: Tip::new(channel), graph, kind: PhantomData }
    }

    /// What messages call the channel.
    pub fn name(&self) -> &str {
        &self.tip.channel.name
    }
}

impl<X: Source, D: Determinism> Input<X, D> {
    pub(crate) fn new(source: X, graph: u64) -> Self {
        Input { source, graph, kind: PhantomData }
    }
}

impl<T, S: Schedule> Output<T, Deterministic, S> {
    /// The same end, for use in a non-deterministic graph in which the deterministic one is embedded.
    pub fn freed(self) -> Output<T, NonDeterministic, S> {
        Output { tip: self.tip, graph: self.graph, kind: PhantomData }
    }
}

impl<X: Source> Input<X, Deterministic> {
    /// The same end, for use in a non-deterministic graph in which the deterministic one is embedded.
    pub fn freed(self) -> Input<X, NonDeterministic> {
        Input { source: self.source, graph: self.graph, kind: PhantomData }
    }
}

impl<T, S: Schedule> Clone for Output<T, NonDeterministic, S> {
    fn clone(&self) -> Self {
        Output { tip: self.tip.clone(), graph: self.graph, kind: PhantomData }
    }
}

impl<X: Source + Clone> Clone for Input<X, NonDeterministic> {
    fn clone(&self) -> Self {
        Input { source: self.source.clone(), graph: self.graph, kind: PhantomData }
    }
}

/// The ends that a node is given.
#[derive(Default)]
#[doc(hidden)]
pub struct Registered {
    /// By their numbers: to receive from, and to send through.
    pub(crate) inputs: Vec<u64>,
    pub(crate) outputs: Vec<u64>,
    /// Of which graph each is, and what its channel is called.
    pub(crate) graphs: Vec<(u64, String)>,
}

/// What a node can be given: an end, or a tuple, array, vector or option of such.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given to a node of a {D} graph",
    label = "not an end of a channel of this kind of graph, nor a tuple, array, vector or option of such"
)]
pub trait Ends<D: Determinism, S: Schedule> {
    /// What the body gets.
    type Live;

    /// Says what it is.
    #[doc(hidden)]
    fn register(&self, registered: &mut Registered);
    /// Makes it usable.
    #[doc(hidden)]
    fn live(self) -> Self::Live;
}

/// Kinds of graph in which ends of kind `D` can be used.
#[diagnostic::on_unimplemented(
    message = "an end of a non-deterministic graph cannot be used in a deterministic one"
)]
pub trait UsableIn<D: Determinism>: Determinism {}
impl UsableIn<Deterministic> for Deterministic {}
impl UsableIn<NonDeterministic> for Deterministic {}
impl UsableIn<NonDeterministic> for NonDeterministic {}

impl<T, K: UsableIn<D>, D: Determinism, S: Schedule> Ends<D, S> for Output<T, K, S> {
    type Live = Sender<T, S>;

    fn register(&self, registered: &mut Registered) {
        registered.outputs.push(self.tip.channel.number);
        registered.graphs.push((self.graph, self.tip.channel.name.clone()));
    }

    fn live(self) -> Sender<T, S> {
        Sender { tip: self.tip }
    }
}

impl<X: Source<S = S>, K: UsableIn<D>, D: Determinism, S: Schedule> Ends<D, S> for Input<X, K> {
    type Live = Receiver<X>;

    fn register(&self, registered: &mut Registered) {
        self.source.each(&mut |wire| {
            registered.inputs.push(wire.number());
            registered.graphs.push((self.graph, wire.name().to_owned()));
        });
    }

    fn live(self) -> Receiver<X> {
        Receiver { source: self.source }
    }
}

impl<E: Ends<D, S>, D: Determinism, S: Schedule> Ends<D, S> for Vec<E> {
    type Live = Vec<E::Live>;

    fn register(&self, registered: &mut Registered) {
        self.iter().for_each(|end| end.register(registered));
    }

    fn live(self) -> Vec<E::Live> {
        self.into_iter().map(E::live).collect()
    }
}

impl<E: Ends<D, S>, D: Determinism, S: Schedule, const N: usize> Ends<D, S> for [E; N] {
    type Live = [E::Live; N];

    fn register(&self, registered: &mut Registered) {
        self.iter().for_each(|end| end.register(registered));
    }

    fn live(self) -> [E::Live; N] {
        self.map(E::live)
    }
}

impl<E: Ends<D, S>, D: Determinism, S: Schedule> Ends<D, S> for Option<E> {
    type Live = Option<E::Live>;

    fn register(&self, registered: &mut Registered) {
        self.iter().for_each(|end| end.register(registered));
    }

    fn live(self) -> Option<E::Live> {
        self.map(E::live)
    }
}

macro_rules! tuples {
    ($($($end:ident)*;)*) => {$(
        #[allow(non_snake_case, unused_variables, clippy::unused_unit, reason = "a variable for each type")]
        impl<$($end: Ends<D, S>,)* D: Determinism, S: Schedule> Ends<D, S> for ($($end,)*) {
            type Live = ($($end::Live,)*);

            fn register(&self, registered: &mut Registered) {
                let ($($end,)*) = self;
                $($end.register(registered);)*
            }

            fn live(self) -> Self::Live {
                let ($($end,)*) = self;
                ($($end.live(),)*)
            }
        }
    )*};
}

tuples! {
    ;
    E1;
    E1 E2;
    E1 E2 E3;
    E1 E2 E3 E4;
    E1 E2 E3 E4 E5;
    E1 E2 E3 E4 E5 E6;
}
