//! What becomes of a graph one of whose nodes panics, and of the ends that its stack drops while it unwinds.
//!
//! A channel whose sender panicked is *cut*, not closed: who receives from it gets what was sent before, and
//! then no close, which would say that this was all. A node unwinds there, and what it sends into is cut in
//! turn; whoever is outside gets the panic. The same holds the other way: who sends to a receiver that
//! panicked unwinds. So what comes out before the panic is what would have come out without it.
//!
//! - An end that a node's unwinding stack drops is *abandoned*: nobody sees that before the node has ended,
//!   for its body may catch the panic; then it is an end like any other. So a cut that is seen has its reason
//!   here already.
//! - When the graph is dropped, all ends of its nodes are cut at once.

use core::any::Any;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use crate::channel::{Link as _, Linked};
use crate::error::Halt;
use crate::mode::Schedule;

pub(crate) type Payload = Box<dyn Any + Send>;

/// What unwinds a node that is cut off by the panic of another.
pub(crate) struct Cut;

/// Unwinds the calling node, which is cut off; not if its stack unwinds already.
#[cold]
pub(crate) fn unwind() {
    if !std::thread::panicking() {
        resume_unwind(Box::new(Cut));
    }
}

/// How it goes with a graph.
#[doc(hidden)]
pub struct Fate<S: Schedule> {
    failed: AtomicBool,
    first: S::Lock<Option<Failure>>,
    /// How many runners are dropped just now whose nodes have panicked.
    cutting: AtomicUsize,
    dropped: AtomicBool,
    has_abandoned: AtomicBool,
    abandoned: S::Lock<Vec<Abandoned>>,
}

/// The first panic of a node.
struct Failure {
    node: String,
    message: String,
    /// Until someone outside has got it.
    payload: Option<Payload>,
}

/// An end that was dropped by a stack that unwinds.
#[derive(Clone, Copy)]
struct Abandoned {
    wire: usize,
    sends: bool,
}

impl<S: Schedule> Fate<S> {
    pub(crate) fn new() -> Fate<S> {
        Fate {
            failed: AtomicBool::new(false),
            first: S::guard(None),
            cutting: AtomicUsize::new(0),
            dropped: AtomicBool::new(false),
            has_abandoned: AtomicBool::new(false),
            abandoned: S::guard(Vec::new()),
        }
    }

    /// A node has panicked. Only the first is kept.
    pub(crate) fn fail(&self, node: &str, payload: Option<Payload>) {
        let mut first = S::lock(&self.first);
        if first.is_none() {
            let message = payload.as_deref().map_or(String::new(), message_of);
            *first = Some(Failure { node: node.to_owned(), message, payload });
            self.failed.store(true, SeqCst);
        }
    }

    /// The graph is dropped: from now on its nodes' ends are cut.
    pub(crate) fn drop_all(&self) {
        self.dropped.store(true, SeqCst);
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(SeqCst)
    }

    /// What is dropped until the guard is, is cut off.
    pub(crate) fn cut(&self) -> Cutting<'_> {
        self.cutting.fetch_add(1, SeqCst);
        Cutting(&self.cutting)
    }

    /// Whether an end that is dropped now may be one that is cut off.
    pub(crate) fn is_doubtful(&self) -> bool {
        std::thread::panicking() || self.cutting.load(SeqCst) > 0
    }

    /// Which panic the one outside is to get, if a node has panicked.
    pub(crate) fn panicked(&self) -> Option<Halt> {
        if !self.failed.load(SeqCst) {
            return None;
        }
        S::lock(&self.first).as_ref().map(|first| Halt::Panicked {
            node: first.node.clone(),
            message: first.message.clone(),
        })
    }

    /// Panics: as the node did, the first time.
    #[track_caller]
    pub(crate) fn raise(&self, halt: &Halt) -> ! {
        if let Halt::Panicked { .. } = halt {
            let payload = S::lock(&self.first).as_mut().and_then(|first| first.payload.take());
            if let Some(payload) = payload {
                resume_unwind(payload);
            }
        }
        panic!("{halt}")
    }

    /// Panics if a node has.
    #[track_caller]
    pub(crate) fn raise_if_panicked(&self) {
        if let Some(halt) = self.panicked() {
            self.raise(&halt);
        }
    }
}

/// See [`Fate::cut`].
pub(crate) struct Cutting<'a>(&'a AtomicUsize);

impl Drop for Cutting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// A node's end is dropped by a stack that may unwind because of a panic: it is told when its node has
/// ended. `close` does so now, if that is over.
pub(crate) fn abandon<S: Schedule>(linked: &Linked<S>, sends: bool, close: impl FnOnce()) {
    let fate = S::fate(&linked.core);
    let has_ended = |node: &usize| S::temperature(&linked.core, *node).is_ended();
    let mut abandoned = S::lock(&fate.abandoned);
    abandoned.push(Abandoned { wire: linked.index, sends });
    fate.has_abandoned.store(true, SeqCst);
    // A node that ends now sees the mark, or is seen here to have ended.
    let is_over = fate.is_dropped() || linked.nodes(sends).iter().all(has_ended);
    if is_over {
        abandoned.pop();
    }
    drop(abandoned);
    if is_over {
        close();
    }
}

/// A node has ended; what it has abandoned is cut if it was by a panic, and else closed.
pub(crate) fn settle<S: Schedule>(core: &S::Core, node: usize, is_cut: bool) {
    let fate = S::fate(core);
    if !fate.has_abandoned.load(SeqCst) {
        return;
    }
    // Kept until the lock is free, for dropping a channel may run anything.
    let (mut own, mut others) = (Vec::new(), Vec::new());
    S::lock(&fate.abandoned).retain(|end| {
        let Some(wire) = S::wire(core, end.wire) else { return false };
        let has_ended = |node: &usize| S::temperature(core, *node).is_ended();
        let is_own = wire.get_linked().is_some_and(|linked| {
            let nodes = linked.nodes(end.sends);
            nodes.contains(&node) && (is_cut || nodes.iter().all(has_ended))
        });
        if is_own {
            own.push((wire, end.sends))
        } else {
            others.push(wire)
        }
        !is_own
    });
    for (wire, sends) in own {
        if sends { wire.end_sender(is_cut) } else { wire.end_receiver(is_cut) }
    }
}
