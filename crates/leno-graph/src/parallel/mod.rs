//! What runs parallel graphs: each node is a coroutine of a system of several cores.
//!
//! # Waiting, and the deadlock nobody could see
//! Who cannot go on leaves a ticket at each channel that could change that, under the channel's lock or
//! looking again afterwards, and parks. Whoever changes a channel takes all its tickets and wakes them;
//! a ticket is used once, by whoever is first. Those woken try again.
//!
//! `running` counts nodes that have started and do not wait: whoever uses a node's ticket counts it
//! again before it is woken, under the lock under which the ticket is used, so nobody on the way is
//! forgotten or counted twice. When it comes to 0, and each end outside is one that someone waits at,
//! nobody can ever go on: then those outside are told.

mod operate;

use core::task::{Context, Poll};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use leno_kernel::{
    JoinHandle, Options, Reason, Start, System, Waiter, Wake, park, try_spawn, try_spawn_future,
};

use crate::channel::{Channel, Link};
use crate::cx::{Caller, FutureCx, NodeCx};
use crate::error::{BuildError, Deadlock, Wait};
use crate::mode::{Parallel, Sealed};
use crate::run::Temperature;
use crate::sender::Unsent;
use crate::source::Source;
use crate::state::Take;

/// Where its nodes run.
#[doc(hidden)]
pub enum Host {
    /// On cores of its own.
    Own(System),
    /// On those of the system in which it was built.
    Here,
}

/// What runs a parallel graph.
#[doc(hidden)]
pub struct Core {
    is_deterministic: bool,
    grows: bool,
    nodes: OnceLock<Box<[Node]>>,
    /// Kept by the ends and by whoever runs the graph: channels refer to this.
    wires: OnceLock<Box<[WeakWire]>>,
    busy: Mutex<Busy>,
}

type AnyWire = Arc<dyn Link<Parallel> + Send + Sync>;
type WeakWire = Weak<dyn Link<Parallel> + Send + Sync>;

struct Node {
    name: String,
    handle: JoinHandle<()>,
    temperature: AtomicU8,
    want: Mutex<Option<(bool, usize)>>,
}

const COLD: u8 = 0;
const HOT: u8 = 1;
const ENDED: u8 = 2;

/// Who could still do something.
#[derive(Default)]
struct Busy {
    running: usize,
    /// Ends outside.
    ends: usize,
    /// Who waits outside, and at how many ends.
    blocked: Vec<(Ticket, usize)>,
}

/// One who waits; used once.
#[derive(Clone)]
#[doc(hidden)]
pub struct Ticket(Arc<Signal>);

struct Signal {
    waiter: Waiter,
    is_node: bool,
    is_used: AtomicBool,
    is_stuck: AtomicBool,
}

impl PartialEq for Ticket {
    fn eq(&self, other: &Ticket) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Ticket {
    fn new(waiter: Waiter, is_node: bool) -> Ticket {
        let (is_used, is_stuck) = (AtomicBool::new(false), AtomicBool::new(false));
        Ticket(Arc::new(Signal { waiter, is_node, is_used, is_stuck }))
    }
}

/// What a node does when it runs.
#[doc(hidden)]
pub enum Body {
    Stack(Box<dyn FnOnce() + Send>),
    Future(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// How a node comes into being.
pub(crate) type Starter = Box<dyn FnOnce(&Arc<Core>, usize) -> Body + Send>;

fn lock<X>(mutex: &Mutex<X>) -> MutexGuard<'_, X> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(crate) fn new(is_deterministic: bool, grows: bool) -> Arc<Core> {
        Arc::new(Core {
            is_deterministic,
            grows,
            nodes: OnceLock::new(),
            wires: OnceLock::new(),
            busy: Mutex::default(),
        })
    }

    /// What it is to run. The nodes are cold.
    pub(crate) fn set(
        self: &Arc<Core>,
        host: &Host,
        nodes: Vec<(String, Starter)>,
        wires: &[AnyWire],
        ends: usize,
    ) -> Result<(), BuildError> {
        lock(&self.busy).ends = ends;
        let is_set = self.wires.set(wires.iter().map(Arc::downgrade).collect()).is_ok();
        debug_assert!(is_set, "a graph is built once");
        let mut made = Vec::new();
        for (index, (name, starter)) in nodes.into_iter().enumerate() {
            let options = Options::new().name(name.clone()).start(Start::Idle);
            let handle = match (host, starter(self, index)) {
                (Host::Own(system), Body::Stack(body)) => system.spawn_with(&options, body),
                (Host::Own(system), Body::Future(body)) => system.spawn_future_with(&options, body),
                (Host::Here, Body::Stack(body)) => {
                    try_spawn(&options, body).map_err(|why| BuildError::Cores(why.to_string()))?
                }
                (Host::Here, Body::Future(body)) => try_spawn_future(&options, body)
                    .map_err(|why| BuildError::Cores(why.to_string()))?,
            };
            let (temperature, want) = (AtomicU8::new(COLD), Mutex::new(None));
            made.push(Node { name, handle, temperature, want });
        }
        let is_set = self.nodes.set(made.into()).is_ok();
        debug_assert!(is_set, "a graph is built once");
        Ok(())
    }

    /// A channel, while someone has an end of it.
    fn wire(&self, wire: usize) -> Option<AnyWire> {
        self.wires.get()?.get(wire)?.upgrade()
    }

    fn node(&self, node: usize) -> &Node {
        &self.nodes.get().expect("built")[node]
    }

    pub(crate) fn temperature(&self, node: usize) -> Temperature {
        match self.node(node).temperature.load(SeqCst) {
            COLD => Temperature::Cold,
            HOT => Temperature::Hot,
            _ => Temperature::Ended,
        }
    }

    /// Says that a node has ended, whichever way, when it is dropped.
    pub(crate) fn ends(self: &Arc<Core>, node: usize) -> Ends {
        Ends { core: self.clone(), node }
    }

    /// One node runs no more for now.
    fn rests(&self, mut busy: MutexGuard<'_, Busy>) {
        busy.running -= 1;
        self.tell_if_stuck(busy);
    }

    /// The same of a node that is a future, and what it waits for.
    fn rests_for(&self, node: usize, want: (bool, usize)) {
        *lock(&self.node(node).want) = Some(want);
        self.rests(lock(&self.busy));
    }

    /// Tells those outside if nobody can ever go on.
    fn tell_if_stuck(&self, mut busy: MutexGuard<'_, Busy>) {
        let blocked: usize = busy.blocked.iter().map(|(_, ends)| ends).sum();
        if busy.running > 0 || blocked < busy.ends || busy.blocked.is_empty() {
            return;
        }
        let told = core::mem::take(&mut busy.blocked);
        for (ticket, _) in &told {
            ticket.0.is_stuck.store(true, SeqCst);
            ticket.0.is_used.store(true, SeqCst);
        }
        drop(busy);
        told.into_iter().for_each(|(ticket, _)| ticket.0.waiter.clone().wake());
    }

    /// Parks until the ticket is used. For the one outside, whether it is in vain; a node whose stack is
    /// to unwind or unwinds gets `Err(None)`.
    fn wait(
        &self,
        caller: &Caller<'_, '_, Parallel>,
        ticket: &Ticket,
        reason: Reason,
        (sends, wire, ends): (bool, usize, usize),
    ) -> Result<(), Option<Deadlock>> {
        match caller {
            Caller::Node(cx) => {
                *lock(&self.node(cx.node).want) = Some((sends, wire));
                self.rests(lock(&self.busy));
            }
            Caller::Outside => {
                let mut busy = lock(&self.busy);
                if !ticket.0.is_used.load(SeqCst) {
                    busy.blocked.push((ticket.clone(), ends));
                }
                self.tell_if_stuck(busy);
            }
        }
        let mut wake = Wake::Unparked;
        while !ticket.0.is_used.load(SeqCst) && wake != Wake::Exit {
            wake = park(reason);
        }
        let mut busy = lock(&self.busy);
        if !ticket.0.is_used.swap(true, SeqCst) {
            match caller {
                Caller::Node(_) => busy.running += 1,
                Caller::Outside => busy.blocked.retain(|(other, _)| other != ticket),
            }
        }
        drop(busy);
        if let Caller::Node(cx) = caller {
            *lock(&self.node(cx.node).want) = None;
        }
        match wake {
            Wake::Exit => Err(None),
            _ if ticket.0.is_stuck.load(SeqCst) => Err(Some(self.explain(sends, wire))),
            _ => Ok(()),
        }
    }

    /// Who waits for what, from the one outside on.
    fn explain(&self, sends: bool, wire: usize) -> Deadlock {
        let wait = |node: &str, (sends, wire): (bool, usize)| {
            let channel = self.wire(wire)?.name().to_owned();
            Some(Wait { node: node.to_owned(), sends, channel })
        };
        let mut waits: Vec<Wait> = wait("outside", (sends, wire)).into_iter().collect();
        for node in self.nodes.get().into_iter().flatten() {
            let want = *lock(&node.want);
            waits.extend(want.and_then(|want| wait(&node.name, want)));
        }
        Deadlock { waits }
    }

    /// Makes room in the smallest full channel that a node waits to send into, if the graph says so.
    fn grow(&self) -> bool {
        if !self.grows {
            return false;
        }
        let full = self.nodes.get().into_iter().flatten().filter_map(|node| {
            let want = *lock(&node.want);
            want.filter(|(sends, _)| *sends).and_then(|(_, wire)| self.wire(wire))
        });
        let smallest = full.min_by_key(|wire| wire.counters().capacity);
        smallest.is_some_and(|wire| {
            wire.grow();
            wire.get_linked().into_iter().for_each(|linked| linked.wake(wire.senders_waiting()));
            true
        })
    }

    /// Waits until nobody runs.
    pub(crate) fn finish(&self) -> Result<(), Deadlock> {
        loop {
            let ticket = Ticket::new(Waiter::current(), false);
            let mut busy = lock(&self.busy);
            if busy.running > 0 {
                // All ends outside are idle: those who wait for the end hold none.
                let ends = busy.ends;
                busy.blocked.push((ticket.clone(), ends));
                drop(busy);
                while !ticket.0.is_used.load(SeqCst) {
                    if park(Reason::Passive) == Wake::Exit {
                        lock(&self.busy).blocked.retain(|(other, _)| *other != ticket);
                        leno_kernel::exit();
                        return Ok(());
                    }
                }
                continue;
            }
            drop(busy);
            let deadlock = self.explain(false, usize::MAX);
            if deadlock.waits.is_empty() {
                return Ok(());
            }
            if !self.grow() {
                return Err(deadlock);
            }
        }
    }
}

/// Says at its end that a node has ended.
pub(crate) struct Ends {
    core: Arc<Core>,
    node: usize,
}

impl Drop for Ends {
    fn drop(&mut self) {
        let Some(nodes) = self.core.nodes.get() else { return };
        if nodes[self.node].temperature.swap(ENDED, SeqCst) == HOT {
            self.core.rests(lock(&self.core.busy));
        }
    }
}

impl Sealed for Parallel {
    const LOOKS_FIRST: bool = false;
    const IS_PARALLEL: bool = true;
    type Ref<X> = Arc<X>;
    type Lock<X> = Mutex<X>;
    type Guard<'a, X: 'a> = MutexGuard<'a, X>;
    type Core = Arc<Core>;
    type Feed<X> = ();
    type Peer = ();
    type Way<'a> = ();
    type Ticket = Ticket;
    type Any = AnyWire;
    type Starter = Starter;
    type Host = Host;

    #[inline(always)]
    fn refer<X>(target: X) -> Arc<X> {
        Arc::new(target)
    }

    #[inline(always)]
    fn guard<X>(content: X) -> Mutex<X> {
        Mutex::new(content)
    }

    #[inline(always)]
    fn lock<X>(mutex: &Mutex<X>) -> MutexGuard<'_, X> {
        lock(mutex)
    }

    #[inline(always)]
    fn feed<X>(_: &Channel<X, Parallel>) -> Take<X> {
        Take::Empty
    }

    fn peer(_: &Arc<Core>, _: usize) -> Option<()> {
        None
    }

    fn wake(core: &Arc<Core>, ticket: Ticket) {
        let mut busy = lock(&core.busy);
        if ticket.0.is_used.swap(true, SeqCst) {
            return;
        }
        match ticket.0.is_node {
            true => busy.running += 1,
            false => busy.blocked.retain(|(other, _)| *other != ticket),
        }
        drop(busy);
        ticket.0.waiter.clone().wake();
    }

    #[inline]
    fn start(core: &Arc<Core>, node: usize) {
        let node = core.node(node);
        if node.temperature.load(SeqCst) == COLD
            && node.temperature.compare_exchange(COLD, HOT, SeqCst, SeqCst).is_ok()
        {
            lock(&core.busy).running += 1;
            node.handle.unpark();
        }
    }

    fn offer<T>(
        caller: Caller<'_, '_, Parallel>,
        channel: &Channel<T, Parallel>,
        value: T,
    ) -> Result<(), Unsent<T>> {
        operate::offer(caller, channel, value)
    }

    fn receive<X: Source<S = Parallel>>(
        caller: Caller<'_, '_, Parallel>,
        source: &X,
    ) -> Result<Option<X::Item>, Deadlock> {
        operate::receive(caller, source)
    }

    fn poll_offer<T>(
        cx: &FutureCx<Parallel>,
        context: &Context<'_>,
        channel: &Channel<T, Parallel>,
        value: &mut Option<T>,
        ticket: &mut Option<Ticket>,
    ) -> Poll<Result<(), T>> {
        operate::poll_offer(cx, context, channel, value, ticket)
    }

    fn poll_receive<X: Source<S = Parallel>>(
        cx: &FutureCx<Parallel>,
        context: &Context<'_>,
        source: &X,
        ticket: &mut Option<Ticket>,
    ) -> Poll<Option<X::Item>> {
        operate::poll_receive(cx, context, source, ticket)
    }

    fn forget(core: &Arc<Core>, ticket: &Ticket) {
        let mut busy = lock(&core.busy);
        if !ticket.0.is_used.swap(true, SeqCst) {
            busy.running += 1;
        }
    }

    fn outside(core: &Arc<Core>, more: bool) {
        let mut busy = lock(&core.busy);
        if more {
            return;
        }
        busy.ends = busy.ends.saturating_sub(1);
        core.tell_if_stuck(busy);
    }

    fn temperature(core: &Arc<Core>, node: usize) -> Temperature {
        core.temperature(node)
    }

    fn drain(core: &Arc<Core>) {
        for node in core.nodes.get().into_iter().flatten() {
            node.handle.cancel();
        }
    }
}

/// The body of a node with a stack.
pub(crate) fn on_stack(
    core: &Arc<Core>,
    node: usize,
    body: impl FnOnce(NodeCx<'_, Parallel>) + Send + 'static,
) -> Body {
    let core = core.clone();
    Body::Stack(Box::new(move || {
        let _ends = core.ends(node);
        body(NodeCx::new(core.clone(), node, ()));
    }))
}

/// The body of a node that is a future.
pub(crate) fn as_future<F: Future<Output = ()> + Send + 'static>(
    core: &Arc<Core>,
    node: usize,
    body: impl FnOnce(FutureCx<Parallel>) -> F + Send + 'static,
) -> Body {
    let core = core.clone();
    Body::Future(Box::pin(async move {
        let _ends = core.ends(node);
        body(FutureCx::new(core.clone(), node)).await;
    }))
}
