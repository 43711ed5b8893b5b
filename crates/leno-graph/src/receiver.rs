//! Ends to receive from: of a node, and outside.

use leno_context::user;

use crate::cx::{Caller, FreeCx, NodeCx};
use crate::error::{Deadlock, Halt};
use crate::fate;
use crate::mode::Sealed as _;
use crate::source::Source;
use crate::state::Take;

/// A node's end to receive from: one channel, or several that are joined or selected. Dropping it
/// cancels it.
pub struct Receiver<X: Source> {
    pub(crate) source: X,
}

impl<X: Source> Receiver<X> {
    /// Receives a message. `None` when no more will come: the channel is closed and empty, or this end
    /// is cancelled.
    ///
    /// # Blocking
    /// Suspends the node until there is one.
    ///
    /// # Cancellation
    /// When the graph is dropped, the node's stack unwinds.
    ///
    /// # Examples
    /// ```
    /// use leno_graph::Graph;
    ///
    /// let mut graph = Graph::deterministic().sequential();
    /// let (numbers, rx) = graph.channel(1);
    /// let (tx, sum) = graph.channel(1);
    /// graph.node("numbers", numbers, |cx, tx| (1..=10).for_each(|i| { tx.send(cx, i); }));
    /// graph.node("sum", (rx, tx), |cx, (rx, tx)| {
    ///     let mut sum = 0;
    ///     while let Some(n) = rx.receive(cx) {
    ///         sum += n;
    ///     }
    ///     tx.send(cx, sum);
    /// });
    /// assert_eq!(graph.build()?.outlet(sum).receive(), Some(55));
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn receive(&self, cx: &NodeCx<'_, X::S>) -> Option<X::Item> {
        match X::S::receive(Caller::Node(cx), &self.source) {
            Ok(Some(item)) => Some(item),
            _ => self.ended(),
        }
    }

    /// No more will come: it unwinds if that is because of a panic.
    #[cold]
    pub(crate) fn ended(&self) -> Option<X::Item> {
        if self.source.is_cut() {
            fate::unwind();
        }
        None
    }

    /// All messages until no more will come.
    pub fn iter<'r>(&'r self, cx: &'r NodeCx<'_, X::S>) -> impl Iterator<Item = X::Item> + 'r {
        core::iter::from_fn(move || self.receive(cx))
    }

    /// Receives a message if one is there now. Only a node that need not be deterministic can ask. One that a join in
    /// another node has taken and may put back is not there.
    pub fn try_receive(&self, cx: &FreeCx<'_, X::S>) -> Option<X::Item> {
        fate::runs_on::<X::S>(&cx.core, cx.node);
        match self.source.receive(false) {
            Take::Got(item) => Some(item),
            Take::Closed => self.ended(),
            Take::Empty => None,
        }
    }

    /// Receives no more, from none of its channels. Whether it did until now. When all ends to receive
    /// from a channel are cancelled, what is in it is dropped, and sends are refused.
    pub fn cancel(&self) -> bool {
        if self.is_doubtful() { self.source.abandon() } else { self.source.leave(false) }
    }

    fn is_doubtful(&self) -> bool {
        let mut is_doubtful = false;
        self.source.each_linked(&mut |linked| is_doubtful |= fate::is_doubtful(linked, false));
        is_doubtful
    }
}

impl<X: Source> Drop for Receiver<X> {
    fn drop(&mut self) {
        if self.is_doubtful() {
            self.source.abandon();
        }
    }
}

/// An end to receive from a graph outside it; an iterator over the messages. Dropping it cancels it.
pub struct Outlet<X: Source> {
    source: X,
}

impl<X: Source> Outlet<X> {
    pub(crate) fn new(source: X) -> Outlet<X> {
        let mut taps = 0;
        source.each(&mut |_| taps += 1);
        let core = &source.linked().core;
        (0..taps).for_each(|_| X::S::outside(core, true));
        Outlet { source }
    }

    /// Receives a message. `None` when no more will come, and all on whom that depends have ended well; a
    /// panic of others is [`finish`](crate::Run::finish)'s to tell. Starts whoever is to send it.
    ///
    /// # Blocking
    /// Until there is one: runs the nodes of a sequential graph meanwhile, parks the calling coroutine or
    /// blocks the calling thread if the graph is parallel.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; in a sequential graph that of the node that runs then,
    /// too, which has ended by that: what it has not sent is cut off.
    ///
    /// # Panics
    /// With the panic of a node that cut this off, when all that was sent before has been received: the first
    /// time with what that panicked with, then with a message that names it. When it would have to wait for ever. When
    /// the [`Run`](crate::Run) was dropped before all was sent. Inside a future that a core polls, if it would
    /// have to wait.
    ///
    /// # Examples
    /// ```
    /// use leno_graph::Graph;
    ///
    /// let mut graph = Graph::deterministic().sequential();
    /// let (tx, rx) = graph.channel(1);
    /// graph.node("hello", tx, |cx, tx| { tx.send(cx, "hello"); });
    /// let run = graph.build()?;
    /// let hello = run.outlet(rx);
    /// assert_eq!(hello.receive(), Some("hello"));
    /// assert_eq!(hello.receive(), None);
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    pub fn receive(&self) -> Option<X::Item> {
        match X::S::receive(Caller::Outside((&raw const self.source).addr()), &self.source) {
            Ok(Some(item)) => Some(item),
            Ok(None) => self.raise(None),
            Err(deadlock) => self.raise(Some(deadlock)),
        }
    }

    /// As [`Self::receive`], waiting as that does, with an error instead of a panic.
    ///
    /// # Errors
    /// When it would have to wait for ever: who waits for whom; nothing is lost. When it is cut off by a
    /// node that has panicked: which one. When the graph was dropped, or a node that ran was made to exit, before all was
    /// sent.
    ///
    /// # Examples
    /// ```
    /// use leno_graph::{Graph, Halt};
    ///
    /// let mut graph = Graph::deterministic().parallel(1);
    /// let (tx, rx) = graph.channel(1);
    /// graph.node("divides", tx, |cx, tx| {
    ///     for divisor in [2, 1, 0] {
    ///         tx.send(cx, 10_u32.checked_div(divisor).expect("a divisor"));
    ///     }
    /// });
    /// let run = graph.build()?;
    /// let rx = run.outlet(rx);
    /// assert_eq!([rx.checked_receive(), rx.checked_receive()], [Ok(Some(5)), Ok(Some(10))]);
    /// let halt = rx.checked_receive().unwrap_err();
    /// assert_eq!(halt.to_string(), "node 'divides' has panicked: a divisor");
    /// assert!(matches!(halt, Halt::Panicked { .. }));
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    #[track_caller]
    pub fn checked_receive(&self) -> Result<Option<X::Item>, Halt> {
        match X::S::receive_with_care(&self.source) {
            Ok(Some(item)) => Ok(Some(item)),
            Ok(None) => self.halt(None).map_or(Ok(None), Err),
            Err(deadlock) => self.halt(Some(deadlock)).map_or(Ok(None), Err),
        }
    }

    /// Why there is no message, unless because no more will come. The panic of a node on which this does not
    /// depend is none: when that comes is a matter of the schedule.
    fn halt(&self, why: Option<Deadlock>) -> Option<Halt> {
        if self.source.is_cut() {
            let panicked = X::S::fate(&self.source.linked().core).panicked();
            return Some(panicked.unwrap_or(Halt::Dropped));
        }
        why.map(Halt::Deadlock)
    }

    /// Panics, if there is a reason.
    #[cold]
    #[track_caller]
    fn raise(&self, why: Option<Deadlock>) -> Option<X::Item> {
        let halt = self.halt(why)?;
        if std::thread::panicking() {
            return None;
        }
        X::S::fate(&self.source.linked().core).raise(&halt)
    }

    /// Receives no more. Whether it did until now.
    pub fn cancel(&self) -> bool {
        self.source.leave(false)
    }
}

impl<X: Source> Iterator for Outlet<X> {
    type Item = X::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<X::Item> {
        self.receive()
    }
}

impl<X: Source> Drop for Outlet<X> {
    fn drop(&mut self) {
        // Messages may panic when they are dropped; those who wait for this end are told all the same.
        let left = user::call(|| self.source.leave(false));
        let mut taps = 0;
        self.source.each(&mut |_| taps += 1);
        let core = &self.source.linked().core;
        (0..taps).for_each(|_| X::S::outside(core, false));
        fate::raise(left.err());
    }
}
