//! What becomes of a graph one of whose nodes panics, and of the ends that its stack drops while it unwinds.
//!
//! A channel whose sender panicked is *cut*, not closed: who receives from it gets what was sent before, and
//! then no close, which would say that this was all. A node unwinds there, and what it sends into is cut in
//! turn; whoever is outside gets the panic. The same holds the other way: who sends to a receiver that
//! panicked unwinds. So what comes out before the panic is what would have come out without it.
//!
//! - An end that a node's unwinding stack drops is *abandoned*: nobody sees that before the node has ended, and
//!   it is cut, or the node runs on: that it sends, receives or waits shows that its body has caught the panic, and
//!   the end is closed like any other. So a cut that is seen has its reason here already.
//! - Whose end it was is known where a channel has one node at that end. Else it may be each node's there
//!   until that one runs on or returns.
//! - When the graph is dropped, all ends of its nodes are cut at once.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use leno_kernel::layer::user::{self, Panic};

use crate::channel::{Link as _, Linked};
use crate::error::Halt;
use crate::mode::Schedule;

/// What unwinds a node that is cut off by the panic of another.
pub(crate) struct Cut;

/// Unwinds the calling node, which is cut off; not if its stack unwinds already.
#[cold]
pub(crate) fn unwind() {
    if !std::thread::panicking() {
        cut_off();
    }
}

/// Unwinds the calling node, which is cut off.
#[cold]
pub(crate) fn cut_off() -> ! {
    resume_unwind(Box::new(Cut))
}

/// Goes on with a panic that was caught, if there is one, after everything else is done; not while the stack
/// unwinds already.
pub(crate) fn raise(panic: Option<Panic>) {
    if let Some(panic) = panic
        && !std::thread::panicking()
    {
        panic.resume();
    }
}

/// Drops all of them, also when one panics; then goes on with the first panic.
pub(crate) fn dispose_all<T>(values: impl IntoIterator<Item = T>) {
    let disposed = values.into_iter().map(|value| user::try_dispose(value).err());
    raise(disposed.fold(None, user::first));
}

/// How it goes with a graph.
#[doc(hidden)]
pub struct Fate<S: Schedule> {
    failed: AtomicBool,
    first: S::Lock<Option<Failure>>,
    /// The nodes that have panicked and whose runners are dropped just now, and how many.
    cutting: S::Lock<Vec<usize>>,
    cut_now: AtomicUsize,
    dropped: AtomicBool,
    /// Whether a node of a sequential graph was ended by code that it called itself.
    overran: AtomicBool,
    /// Whether something is to be settled when a node has run: ends were abandoned, or one of the above.
    has_abandoned: AtomicBool,
    abandoned: S::Lock<Vec<Abandoned>>,
}

/// The first panic of a node.
struct Failure {
    node: String,
    message: String,
    /// Until someone outside has got it.
    payload: Option<Panic>,
}

/// An end that was dropped by a stack that unwinds.
struct Abandoned {
    wire: usize,
    sends: bool,
    /// The nodes one of which has dropped it.
    suspects: Vec<usize>,
}

impl<S: Schedule> Fate<S> {
    pub(crate) fn new() -> Fate<S> {
        Fate {
            failed: AtomicBool::new(false),
            first: S::guard(None),
            cutting: S::guard(Vec::new()),
            cut_now: AtomicUsize::new(0),
            dropped: AtomicBool::new(false),
            overran: AtomicBool::new(false),
            has_abandoned: AtomicBool::new(false),
            abandoned: S::guard(Vec::new()),
        }
    }

    /// A node has panicked. Only the first is kept.
    pub(crate) fn fail(&self, node: &str, payload: Option<Panic>) {
        let mut first = S::lock(&self.first);
        if first.is_none() {
            let message = payload.as_ref().and_then(Panic::message).unwrap_or_default().to_owned();
            *first = Some(Failure { node: node.to_owned(), message, payload });
            self.failed.store(true, SeqCst);
            return;
        }
        drop(first);
        // Not under the lock: its `Drop` is user code.
        drop(payload);
    }

    /// The graph is dropped: from now on its nodes' ends are cut.
    pub(crate) fn drop_all(&self) {
        self.dropped.store(true, SeqCst);
        self.has_abandoned.store(true, SeqCst);
    }

    /// A node of a sequential graph was ended while it runs: it is when it has run.
    pub(crate) fn overrun(&self) {
        self.overran.store(true, SeqCst);
        self.has_abandoned.store(true, SeqCst);
    }

    /// Notes whether something is left to settle.
    fn note(&self, abandoned: &[Abandoned]) {
        let is_settled = abandoned.is_empty() && !self.is_dropped() && !self.overran.load(SeqCst);
        self.has_abandoned.store(!is_settled, SeqCst);
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(SeqCst)
    }

    /// What of this node is dropped until the guard is, is cut off.
    pub(crate) fn cut(&self, node: usize) -> Cutting<'_, S> {
        S::lock(&self.cutting).push(node);
        self.cut_now.fetch_add(1, SeqCst);
        Cutting(self, node)
    }

    fn is_cutting(&self, node: usize) -> bool {
        self.cut_now.load(SeqCst) > 0 && S::lock(&self.cutting).contains(&node)
    }

    /// Whether an end has been dropped of which it is not known yet what becomes of it, or a node may have been
    /// ended while it runs.
    #[inline(always)]
    pub(crate) fn has_abandoned(&self) -> bool {
        self.has_abandoned.load(SeqCst)
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
                payload.resume();
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
pub(crate) struct Cutting<'a, S: Schedule>(&'a Fate<S>, usize);

impl<S: Schedule> Drop for Cutting<'_, S> {
    fn drop(&mut self) {
        let Cutting(fate, node) = self;
        fate.cut_now.fetch_sub(1, SeqCst);
        S::lock(&fate.cutting).retain(|other| other != node);
    }
}

/// Whether an end of a node that is dropped now may be one that is cut off.
pub(crate) fn is_doubtful<S: Schedule>(linked: &Linked<S>, sends: bool) -> bool {
    let fate = S::fate(&linked.core);
    std::thread::panicking() || linked.nodes(sends).iter().any(|node| fate.is_cutting(*node))
}

/// A node's end is dropped by a stack that may unwind because of a panic: it is told when its node has
/// ended or runs on. `close` does so now, if that is over.
pub(crate) fn abandon<S: Schedule>(linked: &Linked<S>, sends: bool, close: impl FnOnce()) {
    let fate = S::fate(&linked.core);
    let has_ended = |node: &usize| S::temperature(&linked.core, *node).is_ended();
    let mut abandoned = S::lock(&fate.abandoned);
    fate.has_abandoned.store(true, SeqCst);
    // A node that ends now sees the mark, or is seen here to have ended.
    let nodes = linked.nodes(sends);
    let is_over = fate.is_dropped() || nodes.iter().all(has_ended);
    if is_over {
        fate.note(&abandoned);
    } else {
        let may_be = |node: &usize| !has_ended(node) || fate.is_cutting(*node);
        let suspects = nodes.iter().copied().filter(may_be).collect();
        abandoned.push(Abandoned { wire: linked.index, sends, suspects });
    }
    drop(abandoned);
    if is_over {
        close();
    }
}

/// A node sends, receives or waits: if its stack does not unwind, its body has caught what it panicked with.
#[inline(always)]
pub(crate) fn runs_on<S: Schedule>(core: &S::Core, node: usize) {
    if S::fate(core).has_abandoned() && !std::thread::panicking() {
        // A message that panics when it is dropped does so in the node that drops it.
        raise(settle::<S>(core, node, false));
    }
}

/// A node has ended, or runs on; what it has abandoned is cut if it has ended by a panic, and else closed.
/// All of it is, also if messages panic that are dropped with it; returns what the first has raised.
#[cold]
#[must_use = "messages may panic when they are dropped"]
pub(crate) fn settle<S: Schedule>(core: &S::Core, node: usize, is_cut: bool) -> Option<Panic> {
    let fate = S::fate(core);
    if !fate.has_abandoned() {
        return None;
    }
    let mut own = Vec::new();
    let mut abandoned = S::lock(&fate.abandoned);
    abandoned.retain_mut(|end| {
        let Some(place) = end.suspects.iter().position(|suspect| *suspect == node) else {
            return true;
        };
        end.suspects.swap_remove(place);
        let is_settled = is_cut || end.suspects.is_empty();
        if is_settled {
            own.push((end.wire, end.sends));
        }
        !is_settled
    });
    fate.note(&abandoned);
    // Dropping messages, or a channel, may run anything.
    drop(abandoned);
    own.into_iter().fold(None, |raised, (wire, sends)| {
        let Some(wire) = S::wire(core, wire) else { return raised };
        let end = || if sends { wire.end_sender(is_cut) } else { wire.end_receiver(is_cut) };
        let ended = user::call(end).and_then(|()| user::try_dispose(wire));
        user::first(raised, ended.err())
    })
}
