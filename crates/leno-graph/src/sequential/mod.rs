//! What runs sequential graphs: all nodes on the thread that sends or receives from outside.
//!
//! Deterministic graphs are run by a chain ([`chain`]), others by an [`EventLoop`]. Both resume
//! coroutines that nobody schedules; there are no locks.

mod chain;
mod feed;
mod hand;
mod operate;
mod poll;
mod schedule;
mod start;

use core::cell::{Cell, OnceCell, RefCell};
use core::task::Context;
use std::rc::{Rc, Weak};

use leno_coroutine::Step;
use leno_kernel::layer::user::{self, Panic};

use chain::Want;
use feed::Feed;
use start::Runner;
pub(crate) use start::{Starter, as_future, iterator, on_stack};

use crate::channel::{Link, Linked};
use crate::cx::NodeCx;
use crate::error::Deadlock;
use crate::event_loop::EventLoop;
use crate::fate::{self, Cut, Fate};
use crate::mode::Sequential;
use crate::run::Temperature;

/// What runs a sequential graph.
#[doc(hidden)]
pub struct Core {
    /// Whether by a chain; else by the event loop.
    is_chain: bool,
    /// Whether full channels grow rather than stop everyone.
    grows: bool,
    nodes: OnceCell<Box<[Rc<Node>]>>,
    /// Kept by the ends and by whoever runs the graph: channels refer to this.
    wires: OnceCell<Box<[Weak<dyn Link<Sequential>>]>>,
    /// Whether a node has panicked.
    fate: Fate<Sequential>,
    /// What the one outside waits for.
    root: Cell<Want>,
    is_running: Cell<bool>,
    pub(crate) events: EventLoop,
}

/// One node.
#[doc(hidden)]
pub struct Node {
    /// Whether it has handed control over with its last message, and goes on when it is run again.
    can_go_on: Cell<bool>,
    name: String,
    starter: RefCell<Option<Starter>>,
    runner: RefCell<Option<Runner>>,
    /// What it waits for.
    want: Cell<Want>,
    /// Who waits for it, while it is in the chain.
    demander: Cell<usize>,
    is_in_chain: Cell<bool>,
    /// Whether it is among the event loop's tasks.
    is_queued: Cell<bool>,
    temperature: Cell<Temperature>,
    /// Whether it has ended, or is about to, by a panic.
    has_fallen: Cell<bool>,
}

impl Core {
    pub(crate) fn new(is_chain: bool, grows: bool) -> Rc<Core> {
        Rc::new(Core {
            is_chain,
            grows,
            nodes: OnceCell::new(),
            wires: OnceCell::new(),
            fate: Fate::new(),
            root: Cell::new(Want::Nothing),
            is_running: Cell::new(false),
            events: EventLoop::new(),
        })
    }

    /// What it is to run.
    pub(crate) fn set(&self, nodes: Vec<(String, Starter)>, wires: &[Rc<dyn Link<Sequential>>]) {
        let nodes = nodes.into_iter().map(|(name, starter)| Node {
            can_go_on: Cell::new(false),
            name,
            starter: RefCell::new(Some(starter)),
            runner: RefCell::new(None),
            want: Cell::new(Want::Nothing),
            demander: Cell::new(chain::NOBODY),
            is_in_chain: Cell::new(false),
            is_queued: Cell::new(false),
            temperature: Cell::new(Temperature::Cold),
            has_fallen: Cell::new(false),
        });
        let wires = wires.iter().map(Rc::downgrade).collect();
        let is_set = self.nodes.set(nodes.map(Rc::new).collect());
        let is_first = is_set.is_ok() & self.wires.set(wires).is_ok();
        debug_assert!(is_first, "a graph is built once");
    }

    #[inline(always)]
    fn node(&self, node: usize) -> &Node {
        &self.nodes.get().expect("built")[node]
    }

    /// A channel at which someone waits, who has an end of it.
    fn wire(&self, wire: usize) -> Rc<dyn Link<Sequential>> {
        let wire = self.wires.get().and_then(|wires| wires[wire].upgrade());
        wire.expect("an end of a channel keeps it")
    }

    /// All channels of which someone has an end.
    fn wires(&self) -> impl Iterator<Item = Rc<dyn Link<Sequential>>> {
        self.wires.get().into_iter().flatten().filter_map(Weak::upgrade)
    }

    pub(crate) fn temperature(&self, node: usize) -> Temperature {
        self.node(node).temperature.get()
    }

    /// Suspends the calling node, which hands control over or else waits. Not while its own stack
    /// unwinds: then `false`.
    #[inline(always)]
    pub(crate) fn suspend(&self, cx: &NodeCx<'_, Sequential>, hands_over: bool) -> bool {
        if std::thread::panicking() {
            return cx.way.try_suspend(hands_over).is_ok();
        }
        cx.way.suspend(hands_over);
        true
    }

    /// Runs the body of a node on its stack. A panic is kept for the one outside; the exit of a coroutine around it goes
    /// on, and so does an unwinding because the graph is drained.
    pub(crate) fn run_body(&self, node: usize, body: impl FnOnce()) {
        if let Err(panic) = user::call(body) {
            let own = self.node(node);
            let is_drained = own.temperature.get() == Temperature::Ended;
            if user::is_exit(&panic) || is_drained && !own.has_fallen.get() {
                panic.resume();
            }
            self.fall(node, panic);
        }
    }

    /// Runs what has no stack of its own: whether it has ended. A panic is kept for the one outside; the exit of a
    /// coroutine around it goes on.
    #[inline(always)]
    fn run_here(&self, node: usize, run: impl FnOnce() -> bool) -> bool {
        user::call(run).unwrap_or_else(|panic| {
            if user::is_exit(&panic) {
                panic.resume();
            }
            self.fall(node, panic);
            true
        })
    }

    /// A node has ended by a panic, its own or one that has cut it off.
    #[cold]
    fn fall(&self, node: usize, panic: Panic) {
        if !panic.payload().is::<Cut>() {
            self.fate.fail(&self.node(node).name, Some(panic));
        }
        self.node(node).has_fallen.set(true);
    }

    /// Runs a node until it suspends or ends. Whether it hands control over.
    fn run_node(self: &Rc<Core>, index: usize) -> bool {
        let node = self.node(index);
        if node.temperature.get() != Temperature::Hot {
            if node.temperature.get() == Temperature::Ended {
                return false;
            }
            let ends = EndsIfUnwound { core: self, index, awaited: None };
            let is_over = self.run_here(index, || {
                self.make_hot(index);
                false
            });
            core::mem::forget(ends);
            if is_over {
                self.end(index);
                return false;
            }
        }
        let ends = EndsIfUnwound { core: self, index, awaited: None };
        let runner = node.runner.borrow();
        node.can_go_on.set(false);
        let is_done = match &*runner {
            Some(Runner::Stack(coroutine)) => match coroutine.resume(()) {
                Step::Finished(()) => true,
                Step::Suspended(hands_over) => {
                    node.can_go_on.set(hands_over);
                    false
                }
            },
            Some(Runner::Loop(fill)) => self.run_here(index, || fill.borrow_mut()()),
            Some(Runner::Future(future, own)) => self.run_here(index, || {
                let waker = own.waker();
                let polled = future.borrow_mut().as_mut().poll(&mut Context::from_waker(&waker));
                if polled.is_pending() && !node.can_go_on.get() && node.want.get() == Want::Nothing
                {
                    node.want.set(Want::Wake);
                }
                polled.is_ready()
            }),
            None => true,
        };
        core::mem::forget(ends);
        drop(runner);
        if is_done {
            self.end(index);
        } else {
            self.has_suspended(index);
        }
        node.can_go_on.get()
    }

    /// A node has suspended, so its stack does not unwind: its body has caught what it has panicked with.
    #[inline(always)]
    fn has_suspended(self: &Rc<Core>, index: usize) {
        if self.fate.has_abandoned() {
            self.settle_suspended(index);
        }
    }

    #[cold]
    fn settle_suspended(self: &Rc<Core>, index: usize) {
        if self.node(index).temperature.get() == Temperature::Ended {
            // By what it has called itself, which has left its stack alone.
            self.end(index);
        } else if let Some(panic) = fate::settle::<Sequential>(self, index, false) {
            self.fate.fail(&self.node(index).name, Some(panic));
        }
    }

    #[cold]
    fn make_hot(self: &Rc<Core>, index: usize) {
        let node = self.node(index);
        let starter = node.starter.borrow_mut().take();
        let Some(starter) = starter else { return };
        let runner = starter(self, index);
        // It may have dropped the graph.
        if node.temperature.get() == Temperature::Cold {
            *node.runner.borrow_mut() = Some(runner);
            node.temperature.set(Temperature::Hot);
        }
    }

    #[cold]
    fn end(self: &Rc<Core>, index: usize) {
        let node = self.node(index);
        node.temperature.set(Temperature::Ended);
        node.want.set(Want::Nothing);
        node.can_go_on.set(false);
        self.events.forget_node(index);
        let cutting = node.has_fallen.get().then(|| self.fate.cut(index));
        let runner = node.runner.try_borrow_mut().map(|mut runner| runner.take());
        if runner.is_err() {
            // It runs just now, and has ended itself.
            self.fate.overrun();
        }
        // What it still holds may panic when it is dropped: then the node has ended by that.
        if let Err(panic) = user::try_dispose(runner) {
            self.fall(index, panic);
        }
        drop(cutting);
        if let Some(panic) = fate::settle::<Sequential>(self, index, node.has_fallen.get()) {
            self.fall(index, panic);
        }
    }

    /// Ends all nodes, whose stacks unwind. Ends that are left outside find their channels closed.
    pub(crate) fn drain(&self) {
        self.fate.drop_all();
        // Destructors that receive find that nobody sends any more.
        self.nodes.get().into_iter().flatten().for_each(|node| node.can_go_on.set(false));
        let mut raised = None;
        for node in self.nodes.get().into_iter().flatten() {
            node.temperature.set(Temperature::Ended);
            // Who waits for it looks at its channel no more, which may be gone.
            node.want.set(Want::Nothing);
            let starter = node.starter.borrow_mut().take();
            raised = user::first(raised, user::try_dispose(starter).err());
            let runner = node.runner.try_borrow_mut().map(|mut runner| runner.take());
            // A node that drops the graph runs just now, and is cut off when it has run.
            node.has_fallen.set(node.has_fallen.get() || runner.is_err());
            raised = user::first(raised, user::try_dispose(runner).err());
        }
        // All have ended, whatever one of them has raised.
        fate::raise(raised);
    }

    /// Makes the calling code the one who runs the graph, for the time of a call.
    #[track_caller]
    #[inline(always)]
    fn enter(&self) -> Running<'_> {
        assert!(
            !self.is_running.replace(true),
            "a sequential graph is run by one at a time: one of its own nodes cannot wait for it from \
             outside"
        );
        Running(self)
    }

    /// Whether everyone outside, and each node that waits, is in here.
    pub(crate) fn explain(&self, root: Want) -> Deadlock {
        let mut waits: Vec<_> = self.wait_of("outside", root).into_iter().collect();
        let nodes = self.nodes.get().expect("built");
        let hot = nodes.iter().filter(|node| node.temperature.get() == Temperature::Hot);
        waits.extend(hot.filter_map(|node| self.wait_of(&node.name, node.want.get())));
        Deadlock { waits }
    }
}

/// Ends a node that is left by the exit of a coroutine around it: what it has not sent is cut off. Where it was awaited,
/// it is no more.
struct EndsIfUnwound<'a> {
    core: &'a Rc<Core>,
    index: usize,
    awaited: Option<&'a Linked<Sequential>>,
}

impl Drop for EndsIfUnwound<'_> {
    fn drop(&mut self) {
        self.awaited.into_iter().for_each(|linked| linked.set_awaited(false));
        self.core.node(self.index).has_fallen.set(true);
        self.core.end(self.index);
    }
}

/// The right to run a graph.
struct Running<'a>(&'a Core);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.is_running.set(false);
    }
}
