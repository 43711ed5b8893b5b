//! Where layers meet: what is of one and used by another.
//!
//! Most of it needs nothing of its own. Whatever waits, parks: so fibres call flexible coroutines, nodes of
//! graphs are preempted, and processes send to pipelines as they are. A coroutine is an iterator, and so
//! feeds [`iterate_with`](crate::fibre::chip::iterate_with); a source of fibres is one as well. The two
//! functions here are for what is left: a graph as a part of a pipeline, and a select that waits for what
//! only gives a future.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex};
use std::task::Wake;

use crate::channel::Source;
use crate::fibre::chip::Transducer;
use crate::graph::{Deterministic, Graph, Halt, Input, Output, Sequential, Tap};
use crate::kernel::Waiter;
use crate::kernel::layer::user;

/// An end of a graph that a chip reads from, or writes to, on behalf of its nodes.
pub type ChipInput<A> = Input<Tap<A, Sequential>, Deterministic>;

/// The other one.
pub type ChipOutput<B> = Output<B, Deterministic, Sequential>;

/// A deterministic graph as one chip: one fibre runs all its nodes, which are described anew for each.
///
/// The chip gives what the graph gives, and reads only when its nodes can do nothing else: it works on
/// demand. What comes out depends on what goes in alone. Where control types of the nodes are known, that of
/// the whole is [inferred](crate::fibre::control::fused) from them; [`of_type`](Transducer::of_type) holds the
/// chip against it.
///
/// # Panics
/// The fibre that runs it, if the graph [cannot be built](Graph::build), or its nodes wait for each other for
/// ever, with a text that says why.
///
/// # Examples
/// ```
/// use leno::fibre::chip::{iterate, sink_to_list};
/// use leno::together::graph_chip;
///
/// // The sum and the difference of two neighbours: a graph that splits and joins.
/// let chip = graph_chip("neighbours", |graph, numbers, out| {
///     graph.node("neighbours", (numbers, out), |cx, (numbers, out)| {
///         while let (Some(a), Some(b)) = (numbers.receive(cx), numbers.receive(cx)) {
///             out.send(cx, (a + b, a - b));
///         }
///     });
/// });
/// let list = std::rc::Rc::default();
/// let pipeline = iterate([5, 3, 8, 1]) | chip | sink_to_list(std::rc::Rc::clone(&list));
/// leno::run(move |cx| pipeline.start(cx, ()));
/// assert_eq!(*list.borrow(), [(8, 2), (9, 7)]);
/// ```
pub fn graph_chip<A: 'static, B: 'static>(
    name: &'static str,
    describe: impl Fn(&mut Graph<Deterministic, Sequential>, ChipInput<A>, ChipOutput<B>) + 'static,
) -> Transducer<A, B> {
    Transducer::new(name, move |cx, (inp, out)| {
        let mut graph = Graph::deterministic().sequential();
        let (to, entry) = graph.named("in", 1);
        let (exit, from) = graph.named("out", 1);
        describe(&mut graph, entry, exit);
        let run = graph.build().unwrap_or_else(|wrong| panic!("graph '{name}': {wrong}"));
        let (to, from) = (run.inlet(to), run.outlet(from));
        loop {
            match from.checked_receive() {
                Ok(Some(value)) => out.write(cx, value),
                Ok(None) => return,
                // Its nodes want more.
                Err(Halt::Deadlock(_)) => match to.checked_send(inp.read(cx)) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(Halt::Deadlock(deadlock)) => panic!("graph '{name}': {deadlock}"),
                    Err(_) => break,
                },
                Err(_) => break,
            }
        }
        // A node has panicked: so does this.
        if let Err(deadlock) = run.finish() {
            panic!("graph '{name}': {deadlock}");
        }
    })
}

/// A future as something that a select can wait for: a reply of a process, the call of a flexible coroutine,
/// anybody's.
///
/// It is polled when the select looks, and gives its result once. What is dropped with it is cancelled, as far
/// as the future has it so; to keep it for a later select, give `&mut` of it.
///
/// # Examples
/// ```
/// use leno::channel::{Select, channel};
/// use leno::flexible::{Me, System};
/// use leno::together::awaited;
/// use std::time::Duration;
///
/// let system = System::new();
/// let twice = system.create("twice", |me: &mut Me<u32, u32>| {
///     let n = me.parameter().unwrap_or(0);
///     me.detach(2 * n);
/// });
/// let (_tx, rx) = channel::<u32>();
/// let first = Select::new()
///     .recv(&rx, |got| format!("{got:?} came"))
///     .source(awaited(twice.call_async(21)), |answer| format!("{:?} is the answer", answer.unwrap()))
///     .after(Duration::from_secs(60), || "nothing came".to_owned())
///     .wait();
/// assert_eq!(first.unwrap(), "42 is the answer");
/// ```
pub fn awaited<F: Future>(future: F) -> Awaited<F> {
    let wakes = Arc::new(Wakes::default());
    Awaited { future: Some(Box::pin(future)), waker: Waker::from(wakes.clone()), wakes }
}

/// See [`awaited`].
#[must_use = "nothing happens until a select looks"]
pub struct Awaited<F> {
    /// Until it has given its result.
    future: Option<Pin<Box<F>>>,
    waker: Waker,
    wakes: Arc<Wakes>,
}

/// Whom to wake.
#[derive(Default)]
struct Wakes(Mutex<Option<Waiter>>);

// A waiter may be a waker of a user's: it is cloned, woken and dropped where the lock is free.
impl Wakes {
    fn wait(&self, waiter: Waiter) {
        let old = user::lock(&self.0).replace(waiter);
        user::discard(old);
    }

    fn forget(&self, waiter: &Waiter) {
        let old = user::lock(&self.0).take_if(|known| known.is_same(waiter));
        user::discard(old);
    }
}

impl Wake for Wakes {
    /// The select leaves its waiter anew before it looks again.
    fn wake(self: Arc<Self>) {
        let waiter = user::lock(&self.0).take();
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl<F: Future> Source for Awaited<F> {
    type Item = F::Output;

    fn take(&mut self) -> Option<F::Output> {
        let future = self.future.as_mut()?;
        match future.as_mut().poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(result) => {
                self.future = None;
                Some(result)
            }
            Poll::Pending => None,
        }
    }

    fn wait(&mut self, waiter: &Waiter) {
        self.wakes.wait(waiter.clone());
    }

    fn leave(&mut self, waiter: &Waiter) {
        self.wakes.forget(waiter);
    }

    fn is_ready(&self) -> bool {
        self.future.is_some()
    }

    fn is_shared(&self) -> bool {
        self.future.is_some()
    }
}

impl<F> fmt::Debug for Awaited<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Awaited").field("is_over", &self.future.is_none()).finish()
    }
}
