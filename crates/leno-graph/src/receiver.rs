//! Ends to receive from: of a node, and outside.

use crate::cx::{Caller, FreeCx, NodeCx};
use crate::error::Deadlock;
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
        X::S::receive(Caller::Node(cx), &self.source).ok().flatten()
    }

    /// All messages until no more will come.
    pub fn iter<'r>(&'r self, cx: &'r NodeCx<'_, X::S>) -> impl Iterator<Item = X::Item> + 'r {
        core::iter::from_fn(move || self.receive(cx))
    }

    /// Receives a message if one is there now. Only a node that need not be deterministic can ask.
    pub fn try_receive(&self, _: &FreeCx<'_, X::S>) -> Option<X::Item> {
        match self.source.receive(false) {
            Take::Got(item) => Some(item),
            Take::Empty | Take::Closed => None,
        }
    }

    /// Receives no more, from none of its channels. Whether it did until now. When all ends to receive
    /// from a channel are cancelled, what is in it is dropped, and sends are refused.
    pub fn cancel(&self) -> bool {
        self.source.leave()
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

    /// Receives a message. `None` when no more will come. Starts whoever is to send it.
    ///
    /// # Blocking
    /// Until there is one: runs the nodes of a sequential graph meanwhile, parks the calling coroutine or
    /// blocks the calling thread if the graph is parallel.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Panics
    /// When it would have to wait for ever, and with the panic of a node of a sequential graph; inside a
    /// future that a core polls, if it would have to wait.
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
        match X::S::receive(Caller::Outside, &self.source) {
            Ok(item) => item,
            Err(deadlock) => refuse(&deadlock),
        }
    }

    /// As [`Self::receive`], with an error instead of a panic.
    ///
    /// # Errors
    /// When it would have to wait for ever: who waits for whom. Nothing is lost.
    pub fn try_receive(&self) -> Result<Option<X::Item>, Deadlock> {
        X::S::receive(Caller::Outside, &self.source)
    }

    /// Receives no more. Whether it did until now.
    pub fn cancel(&self) -> bool {
        self.source.leave()
    }
}

#[cold]
#[track_caller]
fn refuse(deadlock: &Deadlock) -> ! {
    panic!("{deadlock}")
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
        self.source.leave();
        let mut taps = 0;
        self.source.each(&mut |_| taps += 1);
        let core = &self.source.linked().core;
        (0..taps).for_each(|_| X::S::outside(core, false));
    }
}
