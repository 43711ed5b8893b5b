//! What a node of a sequential graph becomes when it starts.

use core::cell::RefCell;
use core::future::Future;
use core::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use leno_coroutine::Coroutine;

use super::{Core, feed};
use crate::cx::{FutureCx, NodeCx};
use crate::event_loop::NodeWaker;
use crate::mode::Sequential;
use crate::sender::{Sender, send_all};

/// What a node becomes when it starts.
#[doc(hidden)]
pub enum Runner {
    /// With a stack; it says whether it hands control over, or waits.
    Stack(Coroutine<(), bool>),
    /// Sends what an iterator gives, and says whether it has come to its end.
    Loop(RefCell<Box<dyn FnMut() -> bool>>),
    /// Without a stack; and what wakes it when it awaits something that is none of the graph's.
    Future(RefCell<Pin<Box<dyn Future<Output = ()>>>>, Arc<NodeWaker>),
}

/// How a node comes into being.
pub(crate) type Starter = Box<dyn FnOnce(&Rc<Core>, usize) -> Runner>;

/// A node with a stack.
pub(crate) fn on_stack(
    name: String,
    body: impl FnOnce(NodeCx<'_, Sequential>) + 'static,
) -> Starter {
    Box::new(move |core, node| {
        let core = core.clone();
        let made = leno_coroutine::Builder::new().name(name).coroutine(move |suspender, ()| {
            let own = core.clone();
            own.run_body(node, || body(NodeCx::new(core, node, suspender)));
        });
        Runner::Stack(made.unwrap_or_else(|error| panic!("{error}")))
    })
}

/// A node that is a future.
pub(crate) fn as_future<F: Future<Output = ()> + 'static>(
    body: impl FnOnce(FutureCx<Sequential>) -> F + 'static,
) -> Starter {
    Box::new(move |core, node| {
        let future = Box::pin(body(FutureCx::new(core.clone(), node)));
        Runner::Future(RefCell::new(future), core.events.waker(node))
    })
}

/// A node that is an iterator: in a chain its receiver asks it.
pub(crate) fn iterator<T: 'static>(
    name: String,
    sender: Sender<T, Sequential>,
    iterator: impl Iterator<Item = T> + 'static,
) -> Starter {
    Box::new(move |core, node| {
        if !core.is_chain {
            let body = move |cx: NodeCx<'_, Sequential>| send_all(&cx, &sender, iterator);
            return on_stack(name, body)(core, node);
        }
        feed::feeds(node, sender, iterator)
    })
}
