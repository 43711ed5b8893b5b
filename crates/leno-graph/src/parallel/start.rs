//! What a node of a parallel graph does when it runs, and how it is run in slices.
//!
//! With a quantum, a node's coroutine is a scheduler of one: the body runs in a coroutine of its own, which
//! is attached for a quantum at a time, and others of the core run in between. Both are on one core, and
//! end together.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use std::sync::Arc;

use leno_context::user;
use leno_kernel::layer::current_system;
use leno_kernel::{Budget, JoinHandle, Options, Sink, yield_now};

use super::Core;
use crate::cx::{FutureCx, NodeCx};
use crate::error::BuildError;
use crate::fate::{self, Cutting, Fate};
use crate::mode::Parallel;
use crate::sender::{Sender, send_all};

/// What a node does when it runs.
#[doc(hidden)]
pub enum Body {
    Stack(Box<dyn FnOnce() + Send>),
    Future(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// How a node comes into being.
pub(crate) type Starter = Box<dyn FnOnce(&Arc<Core>, usize) -> Body + Send>;

/// A node with a stack.
pub(crate) fn on_stack(
    name: String,
    body: impl FnOnce(NodeCx<'_, Parallel>) + Send + 'static,
) -> Starter {
    Box::new(move |core, node| {
        let core = core.clone();
        Body::Stack(Box::new(move || {
            let (quantum, mut ends) = (core.quantum, core.ends(node));
            let body = move || {
                ends.say(user::call(|| body(NodeCx::new(core, node, ()))));
            };
            match quantum {
                Budget::Unlimited => body(),
                _ => in_slices(name, quantum, body),
            }
        }))
    })
}

/// A node that is a future.
pub(crate) fn as_future<F: Future<Output = ()> + Send + 'static>(
    body: impl FnOnce(FutureCx<Parallel>) -> F + Send + 'static,
) -> Starter {
    Box::new(move |core, node| {
        let core = core.clone();
        Body::Future(Box::pin(async move {
            let mut ends = core.ends(node);
            let make = || body(FutureCx::new(core.clone(), node));
            let future = match user::call(make) {
                Ok(future) => future,
                Err(panic) => return ends.say(Err(panic)),
            };
            // Dropped after the future: what a future that is not over holds is cut off.
            let mut cutting = None;
            let mut future = pin!(Some(future));
            let fate = &core.fate;
            let mut over = Over { fate, node, cutting: &mut cutting, is_over: false };
            let ended = poll_fn(|context| {
                let future = future.as_mut().as_pin_mut().expect("it is dropped at its end");
                core.begins_poll(node);
                let polled = user::call(|| {
                    let polled = future.poll(context);
                    // What it awaits may be none of the graph's.
                    fate::runs_on::<Parallel>(&core, node);
                    polled
                });
                match polled {
                    Ok(Poll::Pending) => {
                        core.ends_poll(node);
                        Poll::Pending
                    }
                    Ok(polled) => polled.map(Ok),
                    Err(panic) => Poll::Ready(Err(panic)),
                }
            });
            let ended = ended.await;
            let cut = ended.is_err().then(|| core.fate.cut(node));
            // What it still holds may panic when it is dropped: then the node has ended by that.
            let dropped = user::call(|| future.set(None));
            drop(cut);
            over.is_over = true;
            ends.say(ended.and(dropped));
        }))
    })
}

/// Has what is dropped after it be cut off, unless the node is over.
struct Over<'a, 'c> {
    fate: &'a Fate<Parallel>,
    node: usize,
    cutting: &'c mut Option<Cutting<'a, Parallel>>,
    is_over: bool,
}

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        if !self.is_over {
            *self.cutting = Some(self.fate.cut(self.node));
        }
    }
}

/// A node that is an iterator.
pub(crate) fn iterator<T: Send + 'static>(
    name: String,
    sender: Sender<T, Parallel>,
    iterator: impl Iterator<Item = T> + Send + 'static,
) -> Starter {
    on_stack(name, move |cx| send_all(&cx, &sender, iterator))
}

/// Whether coroutines of the system that runs the calling code can be run for so much at a time.
pub(super) fn can_be_sliced(quantum: Budget) -> Result<(), BuildError> {
    if quantum == Budget::Unlimited || current_system().is_none() {
        return Ok(());
    }
    let sink = Sink::new();
    let spawned = sink.spawn(&Options::new(), || ());
    let probe = spawned.map_err(|why| BuildError::Cores(why.to_string()))?;
    let attached = sink.try_next().map(|co| co.attach(quantum));
    drop(probe);
    match attached {
        Some(Err(why)) => Err(BuildError::Cores(why.to_string())),
        _ => Ok(()),
    }
}

/// Runs `body` in a coroutine of its own, a quantum at a time.
fn in_slices(name: String, quantum: Budget, body: impl FnOnce() + 'static) {
    let sink = Sink::new();
    let spawned = sink.spawn(&Options::new().name(name), body);
    let _ends_with_this = Ends(spawned.unwrap_or_else(|why| panic!("{why}")));
    while let Some(co) = sink.next() {
        match co.attach(quantum) {
            Ok(attached) if attached.is_preempted() => yield_now(),
            Ok(_) => {}
            Err(why) => panic!("{why}"),
        }
    }
}

/// Has a body end when its scheduler does, which nothing does before it but an exit.
struct Ends(JoinHandle<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
