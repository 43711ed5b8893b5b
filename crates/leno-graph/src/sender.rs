//! Ends to send through: of a node, and outside.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::channel::{Channel, Link as _};
use crate::cx::{Caller, FreeCx, NodeCx};
use crate::error::{Deadlock, Halt};
use crate::fate;
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
        self.end(false)
    }

    fn end(&self, is_cut: bool) -> bool {
        let is_first = self.is_open.swap(false, Relaxed);
        if is_first {
            self.channel.close_sender(is_cut);
        }
        is_first
    }

    /// Closes it while the stack of its node may unwind; see [`fate`](crate::fate).
    fn abandon(&self) -> bool {
        let is_first = self.is_open.swap(false, Relaxed);
        if is_first {
            let linked = self.channel.linked();
            fate::abandon(linked, true, || self.channel.close_sender(true));
        }
        is_first
    }

    /// Gives a message back that nobody receives. If that is because of a panic, the calling node unwinds
    /// instead; the message is dropped before, since it may panic, too.
    #[cold]
    pub(crate) fn refuse(&self, value: T) -> T {
        let is_broken = self.is_open() && self.channel.state().is_broken;
        if is_broken && !std::thread::panicking() {
            drop(value);
            fate::cut_off();
        }
        value
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
        self.end(self.channel.is_dropped());
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
            Some(value) => match self.tip.offer(Caller::Node(cx), value) {
                Ok(()) => true,
                Err(unsent) => {
                    drop(self.tip.refuse(unsent.value));
                    false
                }
            },
        }
    }

    /// As [`Self::send`], but gives the message back.
    ///
    /// # Errors
    /// The message, if it was not sent.
    pub fn offer(&self, cx: &NodeCx<'_, S>, value: T) -> Result<(), T> {
        self.tip.offer(Caller::Node(cx), value).map_err(|unsent| self.tip.refuse(unsent.value))
    }

    /// Sends a message if there is room for it now. Only a node that need not be deterministic can ask.
    ///
    /// # Errors
    /// The message, if it was not sent.
    pub fn try_send(&self, cx: &FreeCx<'_, S>, value: T) -> Result<(), T> {
        fate::runs_on::<S>(&cx.core, cx.node);
        let linked = self.tip.channel.linked();
        let (pushed, woken) = self.tip.channel.push(value);
        self.tip.channel.wake_receivers(woken);
        match pushed {
            Push::Done(_) => {
                linked.start_consumers();
                Ok(())
            }
            Push::Full(value) => Err(value),
            Push::Refused(value) => Err(self.tip.refuse(value)),
        }
    }

    /// Sends no more. Whether it could until now. When all ends to send through are closed, receivers
    /// take what is in the channel, and then get the close.
    pub fn close(&self) -> bool {
        if self.is_doubtful() { self.tip.abandon() } else { self.tip.close() }
    }

    fn is_doubtful(&self) -> bool {
        self.tip.channel.get_linked().is_some_and(|linked| fate::is_doubtful(linked, true))
    }
}

impl<T, S: Schedule> Drop for Sender<T, S> {
    fn drop(&mut self) {
        if self.is_doubtful() {
            self.tip.abandon();
        }
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

    /// Sends a message into the graph: whether it is in the channel; it is not if nobody receives any more,
    /// or the graph was dropped. Starts whoever is to receive it.
    ///
    /// # Blocking
    /// While the channel is full: runs the nodes of a sequential graph meanwhile, parks the calling
    /// coroutine or blocks the calling thread if the graph is parallel.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and the message is dropped.
    ///
    /// # Panics
    /// With the panic of a node, if nobody receives any more because of that; when it would have to wait
    /// for ever; inside a future that a core polls, if it would have to wait.
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
        match self.checked_send(value) {
            Ok(is_sent) => is_sent,
            Err(_) if std::thread::panicking() => false,
            Err(halt) => S::fate(&self.tip.channel.linked().core).raise(&halt),
        }
    }

    /// As [`Self::send`], waiting as that does, with an error instead of a panic.
    ///
    /// # Errors
    /// When it would have to wait for ever: who waits for whom. When nobody receives any more because a
    /// node has panicked: which one. The message is dropped.
    #[track_caller]
    pub fn checked_send(&self, value: T) -> Result<bool, Halt> {
        let channel = &self.tip.channel;
        let panicked = || S::fate(&channel.linked().core).panicked();
        match self.tip.offer(Caller::Outside((&raw const self.tip).addr()), value) {
            Ok(()) => Ok(true),
            Err(Unsent { why: None, .. }) => {
                let is_broken = self.tip.is_open() && channel.state().is_broken;
                let halt = if is_broken { panicked() } else { None };
                halt.map_or(Ok(false), Err)
            }
            Err(Unsent { why: Some(why), .. }) => Err(panicked().unwrap_or(Halt::Deadlock(why))),
        }
    }

    /// Sends no more. Whether it could until now.
    pub fn close(&self) -> bool {
        self.tip.close()
    }
}

impl<T, S: Schedule> Drop for Inlet<T, S> {
    fn drop(&mut self) {
        self.tip.close();
        S::outside(&self.tip.channel.linked().core, false);
    }
}
