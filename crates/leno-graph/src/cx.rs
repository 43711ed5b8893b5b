//! What the body of a node is given besides its ends.
//!
//! A [`NodeCx`] can do nothing by itself: it is what sending and receiving ask for, so that only the node
//! to which an end was given uses it. There is no clock in it, no choice and no attempt: through leno a
//! deterministic body sees nothing but its input. A [`FreeCx`], of nodes that only non-deterministic
//! graphs have, can do more.

use core::marker::PhantomData;
use core::ops::Deref;
use core::time::Duration;

use leno_kernel::Time;

use crate::event_loop::EventLoop;
use crate::fate;
use crate::mode::{Parallel, Schedule, Sequential};

/// The context of a node's body.
pub struct NodeCx<'a, S: Schedule> {
    pub(crate) core: S::Core,
    pub(crate) node: usize,
    pub(crate) way: S::Way<'a>,
    stays: PhantomData<*mut ()>,
}

/// The context of a node that is a future: what its ends ask for. It can be kept and cloned, for a future
/// has no frames to which it could be bound.
pub struct FutureCx<S: Schedule> {
    pub(crate) core: S::Core,
    pub(crate) node: usize,
}

impl<S: Schedule> FutureCx<S> {
    pub(crate) fn new(core: S::Core, node: usize) -> FutureCx<S> {
        FutureCx { core, node }
    }
}

impl<S: Schedule> Clone for FutureCx<S> {
    fn clone(&self) -> Self {
        FutureCx { core: self.core.clone(), node: self.node }
    }
}

/// Who sends or receives.
#[doc(hidden)]
pub enum Caller<'c, 'a, S: Schedule> {
    /// A node, on its stack.
    Node(&'c NodeCx<'a, S>),
    /// A thread or coroutine that is none of the graph's nodes, and at which end it is: an address. Several may use one.
    Outside(usize),
}

impl<'a, S: Schedule> NodeCx<'a, S> {
    pub(crate) fn new(core: S::Core, node: usize, way: S::Way<'a>) -> NodeCx<'a, S> {
        NodeCx { core, node, way, stays: PhantomData }
    }
}

/// The context of a body that may depend on more than its input: time, the world, what happens to be
/// there. Where a [`NodeCx`] is asked for, it will do.
pub struct FreeCx<'a, S: Schedule> {
    cx: NodeCx<'a, S>,
}

impl<'a, S: Schedule> FreeCx<'a, S> {
    pub(crate) fn new(cx: NodeCx<'a, S>) -> FreeCx<'a, S> {
        FreeCx { cx }
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        leno_kernel::now()
    }
}

impl<'a, S: Schedule> Deref for FreeCx<'a, S> {
    type Target = NodeCx<'a, S>;

    fn deref(&self) -> &NodeCx<'a, S> {
        &self.cx
    }
}

impl FreeCx<'_, Sequential> {
    /// Waits for so long; other nodes run meanwhile.
    ///
    /// # Blocking
    /// Suspends the node.
    ///
    /// # Cancellation
    /// When the graph is dropped, the node's stack unwinds.
    pub fn sleep(&self, time: Duration) {
        let deadline = leno_kernel::layer::deadline_in(time);
        self.core.events.add_node_at(deadline, self.node);
        while leno_kernel::now() < deadline {
            if !self.core.suspend(&self.cx, false) {
                return;
            }
        }
    }

    /// Runs `operation`, which may block, on a thread of its own; other nodes run meanwhile.
    ///
    /// # Blocking
    /// Suspends the node until the operation has ended.
    ///
    /// # Cancellation
    /// When the graph is dropped, the node's stack unwinds; the operation goes on by itself.
    ///
    /// # Panics
    /// With the panic of the operation.
    pub fn io<R: Send + 'static>(&self, operation: impl FnOnce() -> R + Send + 'static) -> R {
        let result = std::rc::Rc::new(core::cell::Cell::new(None));
        let (slot, events, node) = (result.clone(), self.core.events.clone(), self.node);
        self.core.events.start_io(operation, move |ended| {
            match std::rc::Rc::strong_count(&slot) {
                // Its node has ended, so nobody takes the result.
                1 => leno_kernel::layer::user::discard(ended),
                _ => slot.set(Some(ended)),
            }
            events.add_node(node);
        });
        loop {
            if let Some(ended) = result.take() {
                return ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
            }
            if !self.core.suspend(&self.cx, false) {
                panic!("an operation is waited for while the node's own stack unwinds");
            }
        }
    }

    /// The graph's event loop, for tasks besides its nodes.
    pub fn events(&self) -> &EventLoop {
        &self.core.events
    }
}

impl FreeCx<'_, Parallel> {
    /// Waits for so long; other nodes run meanwhile.
    ///
    /// # Blocking
    /// Parks the node.
    ///
    /// # Cancellation
    /// When the graph is dropped, the node's stack unwinds.
    pub fn sleep(&self, time: Duration) {
        fate::runs_on::<Parallel>(&self.core, self.node);
        leno_kernel::sleep(time);
    }

    /// Runs `operation`, which may block, on a thread of its own; other nodes run meanwhile.
    ///
    /// # Blocking
    /// Parks the node until the operation has ended.
    ///
    /// # Cancellation
    /// When the graph is dropped, the node waits for the operation's end, and its stack unwinds.
    ///
    /// # Panics
    /// With the panic of the operation.
    pub fn io<R: Send + 'static>(&self, operation: impl FnOnce() -> R + Send + 'static) -> R {
        fate::runs_on::<Parallel>(&self.core, self.node);
        leno_kernel::blocking(operation)
    }
}
