//! Ends to send through: of a node, and outside.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::channel::Channel;
use crate::cx::{Caller, FreeCx, NodeCx};
use crate::error::Deadlock;
use crate::mode::Schedule;
use crate::state::Push;

/// One end to send through one channel. Dropping it closes it.
pub(crate) struct Tip<T, S: Schedule> {
    pub(crate) channel: S::Ref<Channel<T, S>>,
    is_open: AtomicBool,
}

impl<T, S: Schedule> Tip<T, S> {
    pub(crate) fn new(channel: S::Ref<Channel<T, S>>) -> Tip<T, S> {
        channel.add_sender();
        Tip { channel, is_open: AtomicBool::new(true) }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    pub(crate) fn close(&self) -> bool {
        let is_first = self.is_open.swap(false, Relaxed);
        if is_first {
            self.channel.close_sender();
        }
        is_first
    }

    fn offer(&self, caller: Caller<'_, '_, S>, value: T) -> Result<(), Unsent<T>> {
        if !self.is_open.load(Relaxed) {
            return Err(Unsent { value, why: None });
        }
        S::offer(caller, &self.channel, value)
    }
}

impl<T, S: Schedule> Clone for Tip<T, S> {
    fn clone(&self) -> Self {
        // Only tokens are cloned, which are open.
        Tip::new(self.channel.clone())
    }
}

impl<T, S: Schedule> Drop for Tip<T, S> {
    fn drop(&mut self) {
        self.close();
    }
}

/// A message that was not sent.
#[doc(hidden)]
pub struct Unsent<T> {
    pub(crate) value: T,
    /// Why not, if not because the channel is closed or cancelled.
    pub(crate) why: Option<Deadlock>,
}

/// A node's end to send through. Dropping it closes it.
pub struct Sender<T, S: Schedule> {
    pub(crate) tip: Tip<T, S>,
}

impl<T, S: Schedule> Sender<T, S> {
    /// Sends a message: whether it is in the channel. It is not if all receivers have cancelled, or this
    /// end is closed.
    ///
    /// # Blocking
    /// Suspends the node while the channel is full.
    ///
    /// # Cancellation
    /// When the graph is dropped, the node's stack unwinds, and the message is dropped.
    ///
    /// # Examples
    /// ```
    /// use leno_graph::Graph;
    ///
    /// let mut graph = Graph::deterministic().sequential();
    /// let (tx, rx) = graph.channel(1);
    /// graph.node("one", tx, |cx, tx| {
    ///     assert!(tx.send(cx, 1));
    ///     tx.close();
    ///     assert!(!tx.send(cx, 2));
    /// });
    /// let run = graph.build()?;
    /// assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [1]);
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn send(&self, cx: &NodeCx<'_, S>, value: T) -> bool {
        if !self.tip.is_open() {
            return false;
        }
        match S::hand_in(cx, &self.tip.channel, value) {
            None => true,
            Some(value) => self.tip.offer(Caller::Node(cx), value).is_ok(),
        }
    }

    /// As [`Self::send`], but gives the message back.
    ///
    /// # Errors
    /// The message, if it was not sent.
    pub fn offer(&self, cx: &NodeCx<'_, S>, value: T) -> Result<(), T> {
        self.tip.offer(Caller::Node(cx), value).map_err(|unsent| unsent.value)
    }

    /// Sends a message if there is room for it now. Only a node that need not be deterministic can ask.
    ///
    /// # Errors
    /// The message, if it was not sent.
    pub fn try_send(&self, _: &FreeCx<'_, S>, value: T) -> Result<(), T> {
        let linked = self.tip.channel.linked();
        let gate = linked.shut();
        let (pushed, woken) = self.tip.channel.push(value);
        drop(gate);
        linked.wake(woken);
        match pushed {
            Push::Done(_) => {
                linked.start_consumers();
                Ok(())
            }
            Push::Full(value) | Push::Refused(value) => Err(value),
        }
    }

    /// Sends no more. Whether it could until now. When all ends to send through are closed, receivers
    /// take what is in the channel, and then get the close.
    pub fn close(&self) -> bool {
        self.tip.close()
    }
}

/// Sends all that an iterator gives, until nobody receives any more.
pub(crate) fn send_all<T, S: Schedule>(
    cx: &NodeCx<'_, S>,
    sender: &Sender<T, S>,
    mut iterator: impl Iterator<Item = T>,
) {
    while iterator.next().is_some_and(|value| sender.send(cx, value)) {}
}

/// An end to send into a graph from outside. Dropping it closes it.
pub struct Inlet<T, S: Schedule> {
    pub(crate) tip: Tip<T, S>,
}

impl<T, S: Schedule> Inlet<T, S> {
    pub(crate) fn new(tip: Tip<T, S>) -> Inlet<T, S> {
        S::outside(&tip.channel.linked().core, true);
        Inlet { tip }
    }

    /// Sends a message into the graph: whether it is in the channel. Starts whoever is to receive it.
    ///
    /// # Blocking
    /// While the channel is full: runs the nodes of a sequential graph meanwhile, parks the calling
    /// coroutine or blocks the calling thread if the graph is parallel.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and the message is dropped.
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
    /// let (out, squares) = graph.channel(1);
    /// graph.node("square", (rx, out), |cx, (rx, out)| {
    ///     while let Some(n) = rx.receive(cx) {
    ///         out.send(cx, n * n);
    ///     }
    /// });
    /// let run = graph.build()?;
    /// let (tx, squares) = (run.inlet(tx), run.outlet(squares));
    /// assert!(tx.send(12));
    /// assert_eq!(squares.receive(), Some(144));
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> bool {
        match self.tip.offer(Caller::Outside, value) {
            Ok(()) => true,
            Err(Unsent { why: None, .. }) => false,
            Err(Unsent { why: Some(deadlock), .. }) => panic!("{deadlock}"),
        }
    }

    /// As [`Self::send`], with an error instead of a panic.
    ///
    /// # Errors
    /// When it would have to wait for ever: who waits for whom. The message is dropped.
    pub fn try_send(&self, value: T) -> Result<bool, Deadlock> {
        match self.tip.offer(Caller::Outside, value) {
            Ok(()) => Ok(true),
            Err(Unsent { why: None, .. }) => Ok(false),
            Err(Unsent { why: Some(deadlock), .. }) => Err(deadlock),
        }
    }

    /// Sends no more. Whether it could until now.
    pub fn close(&self) -> bool {
        self.tip.close()
    }
}

impl<T, S: Schedule> Drop for Inlet<T, S> {
    fn drop(&mut self) {
        S::outside(&self.tip.channel.linked().core, false);
    }
}
