//! The four modes: deterministic or not, sequential or parallel, as types.
//!
//! Everything that both schedules share is written once over a [`Schedule`]: how something is referred
//! to and locked, who waits, and what sending and receiving do when they cannot go on. What only
//! non-deterministic graphs may do is a method of graphs, tokens and contexts of that kind alone.

use core::fmt::Debug;
use core::ops::{Deref, DerefMut};
use core::task::{Context, Poll};

use crate::channel::{Channel, Link};
use crate::cx::{Caller, FutureCx, NodeCx};
use crate::error::Deadlock;
use crate::fate::Fate;
use crate::run::Temperature;
use crate::sender::Unsent;
use crate::source::Source;
use crate::state::Take;

/// The result cannot depend on the schedule: each channel has one sender and one receiver, nothing is
/// merged, and no node sees a clock.
#[derive(Clone, Copy, Debug)]
pub enum Deterministic {}

/// Channels may have many ends and be merged, and nodes may see clocks and the world.
#[derive(Clone, Copy, Debug)]
pub enum NonDeterministic {}

/// [`Deterministic`] or [`NonDeterministic`].
pub trait Determinism: SealedKind + Debug + 'static {}

/// What a kind of graph consists of; nobody else can make one.
pub trait SealedKind {
    /// Whether the result cannot depend on the schedule.
    const DETERMINISTIC: bool;
}

impl Determinism for Deterministic {}
impl SealedKind for Deterministic {
    const DETERMINISTIC: bool = true;
}

impl Determinism for NonDeterministic {}
impl SealedKind for NonDeterministic {
    const DETERMINISTIC: bool = false;
}

/// On the thread that sends or receives from outside; bodies and messages need not be `Send`.
#[derive(Clone, Copy, Debug)]
pub enum Sequential {}

/// On several cores; bodies and messages are `Send`.
#[derive(Clone, Copy, Debug)]
pub enum Parallel {}

/// [`Sequential`] or [`Parallel`].
pub trait Schedule: Sealed + Sized + Debug + 'static {}

impl Schedule for Sequential {}
impl Schedule for Parallel {}

/// What a schedule consists of; nobody else can make one.
#[doc(hidden)]
pub trait Sealed {
    /// Whether joins look at all sources before they take from any.
    const LOOKS_FIRST: bool;
    /// Whether several cores run it.
    const IS_PARALLEL: bool;
    /// A counted reference.
    type Ref<X>: Clone + Deref<Target = X>;
    /// Something that is used by one at a time.
    type Lock<X>;
    /// The right to use it.
    type Guard<'a, X: 'a>: DerefMut<Target = X>;
    /// What runs the nodes of a graph.
    type Core: Clone;
    /// An iterator that is a channel's sender, and is asked by the receiver itself.
    type Feed<X>;
    /// The node at an end of a channel, where control goes from hand to hand.
    type Peer;
    /// How a node suspends.
    type Way<'a>: Copy;
    /// Names one who waits at a channel.
    type Ticket: Copy + PartialEq;
    /// The wait of a node that is a future.
    type Own<'a>;
    /// A channel of any type.
    type Any: Deref<Target: Link<Self>> + Clone
    where
        Self: Schedule;
    /// How a node comes into being.
    type Starter;
    /// Where nodes run.
    type Host;

    /// Makes a reference.
    fn refer<X>(target: X) -> Self::Ref<X>;
    /// Makes a lock.
    fn guard<X>(content: X) -> Self::Lock<X>;
    /// Locks.
    fn lock<X>(lock: &Self::Lock<X>) -> Self::Guard<'_, X>;
    /// A message of a channel at which control goes from hand to hand, if one is there or its sender gives
    /// one now.
    fn by_hand<X>(channel: &Channel<X, Self>, is_outside: bool) -> Option<X>
    where
        Self: Schedule;
    /// Asks the iterator that is a channel's sender: `Empty` if there is none.
    fn feed<X>(channel: &Channel<X, Self>) -> Take<X>
    where
        Self: Schedule;
    /// A node, where control goes from hand to hand.
    fn peer(core: &Self::Core, node: usize) -> Option<Self::Peer>;
    /// Lets one who waits at a channel go on.
    fn wake(core: &Self::Core, ticket: Self::Ticket);
    /// Starts a node that is cold.
    fn start(core: &Self::Core, node: usize);
    /// Sends, if that can be done at a glance where control goes from hand to hand; else the message.
    fn hand_in<T>(cx: &NodeCx<'_, Self>, channel: &Channel<T, Self>, value: T) -> Option<T>
    where
        Self: Schedule;
    /// Sends, and waits for room.
    fn offer<T>(
        caller: Caller<'_, '_, Self>,
        channel: &Channel<T, Self>,
        value: T,
    ) -> Result<(), Unsent<T>>
    where
        Self: Schedule;
    /// Receives, and waits for a message.
    fn receive<X: Source<S = Self>>(
        caller: Caller<'_, '_, Self>,
        source: &X,
    ) -> Result<Option<X::Item>, Deadlock>
    where
        Self: Schedule;
    /// Sends, in a node that is a future; `value` is taken, and `own` there while it waits.
    fn poll_offer<'a, T>(
        cx: &'a FutureCx<Self>,
        context: &Context<'_>,
        channel: &Channel<T, Self>,
        value: &mut Option<T>,
        own: &mut Option<Self::Own<'a>>,
    ) -> Poll<Result<(), T>>
    where
        Self: Schedule;
    /// Receives, in a node that is a future.
    fn poll_receive<'a, X: Source<S = Self>>(
        cx: &'a FutureCx<Self>,
        context: &Context<'_>,
        source: &X,
        own: &mut Option<Self::Own<'a>>,
    ) -> Poll<Option<X::Item>>
    where
        Self: Schedule;
    /// What names the wait of a node that is a future.
    fn ticket(own: &Self::Own<'_>) -> Self::Ticket;
    /// The wait of a node that is a future is over or dropped.
    fn forget<'a>(cx: &'a FutureCx<Self>, own: Self::Own<'a>)
    where
        Self: Schedule;
    /// Numbers an attempt to receive that may be rolled back, where it may meet others; else 0.
    fn attempt(core: &Self::Core) -> u64;
    /// An end outside the graph comes (+1) or goes (-1).
    fn outside(core: &Self::Core, more: bool);
    /// How it goes with the graph.
    fn fate(core: &Self::Core) -> &Fate<Self>
    where
        Self: Schedule;
    /// A channel, if someone has an end of it.
    fn wire(core: &Self::Core, wire: usize) -> Option<Self::Any>
    where
        Self: Schedule;
    /// As [`Self::receive`] of someone outside, but the panic of an iterator does not pass through it.
    fn receive_with_care<X: Source<S = Self>>(source: &X) -> Result<Option<X::Item>, Deadlock>
    where
        Self: Schedule;
    /// Whether a node has run.
    fn temperature(core: &Self::Core, node: usize) -> Temperature;
    /// Ends all nodes.
    fn drain(core: &Self::Core);
}
