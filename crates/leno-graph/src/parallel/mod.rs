//! What runs parallel graphs: each node is a coroutine of a system of several cores.
//!
//! # Waiting, and the deadlock nobody could see
//! Who cannot go on leaves a ticket at each channel that could change that, under the channel's lock or
//! looking again afterwards, and parks. Whoever changes a channel takes all its tickets and wakes them;
//! a ticket is used once, by whoever is first. Those woken try again.
//!
//! `running` counts nodes that have started and do not wait (of those that are futures: see `pending.rs`): whoever uses a node's ticket counts it
//! again before it is woken, under the lock under which the ticket is used, so nobody on the way is
//! forgotten or counted twice. When it comes to 0, and each end outside is one that someone waits at,
//! nobody can ever go on: then those outside are told.

mod operate;
mod pending;
mod schedule;
mod start;
mod waiting;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use leno_kernel::user::{self, Panic};
use leno_kernel::{
    Budget, JoinHandle, Options, Start, System, Waiter, try_spawn, try_spawn_future,
};

use self::pending::Pending;
pub(crate) use start::{Body, Starter, as_future, iterator, on_stack};

use crate::channel::Link;
use crate::cx::Caller;
use crate::error::BuildError;
use crate::fate::{self, Cut, Fate};
use crate::lock::lock;
use crate::mode::Parallel;
use crate::run::Temperature;

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
    /// How far a node with a stack runs before others of its core do.
    quantum: Budget,
    nodes: OnceLock<Box<[Node]>>,
    /// Kept by the ends and by whoever runs the graph: channels refer to this.
    wires: OnceLock<Box<[WeakWire]>>,
    busy: Mutex<Busy>,
    /// Whether a node has panicked.
    fate: Fate<Parallel>,
}

type AnyWire = Arc<dyn Link<Parallel> + Send + Sync>;
type WeakWire = Weak<dyn Link<Parallel> + Send + Sync>;

struct Node {
    name: String,
    handle: JoinHandle<()>,
    temperature: AtomicU8,
    /// What it waits for, if it has a stack.
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
    /// Nodes that are futures, by their numbers, as far as they have been polled.
    futures: Vec<Pending>,
}

/// Who has a ticket.
#[derive(Clone, Copy, PartialEq)]
enum Whose {
    Outside,
    /// A node with a stack, which waits for one thing at a time.
    Stack,
    /// The node of this number, which is a future.
    Future(usize),
}

/// One who waits; used once.
#[derive(Clone)]
#[doc(hidden)]
pub struct Ticket(Arc<Signal>);

struct Signal {
    /// There until it is dropped.
    waiter: Option<Waiter>,
    whose: Whose,
    is_used: AtomicBool,
    is_stuck: AtomicBool,
}

impl PartialEq for Ticket {
    fn eq(&self, other: &Ticket) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Ticket {
    fn new(waiter: Waiter, whose: Whose) -> Ticket {
        let (is_used, is_stuck) = (AtomicBool::new(false), AtomicBool::new(false));
        Ticket(Arc::new(Signal { waiter: Some(waiter), whose, is_used, is_stuck }))
    }

    /// One of a coroutine or thread.
    fn of(caller: &Caller<'_, '_, Parallel>) -> Ticket {
        let is_node = matches!(caller, Caller::Node(_));
        Ticket::new(Waiter::current(), if is_node { Whose::Stack } else { Whose::Outside })
    }

    fn is_used(&self) -> bool {
        self.0.is_used.load(SeqCst)
    }

    /// Wakes the one who waits; see [`Linked::wake`](crate::channel::Linked::wake).
    fn wake(&self) {
        match &self.0.waiter {
            Some(Waiter::Waker(waker)) => waker.wake_by_ref(),
            Some(waiter) => waiter.clone().wake(),
            None => {}
        }
    }
}

/// A waker that panics when it is dropped takes nobody along.
impl Drop for Signal {
    fn drop(&mut self) {
        user::discard(self.waiter.take());
    }
}

impl Core {
    pub(crate) fn new(is_deterministic: bool, grows: bool, quantum: Budget) -> Arc<Core> {
        Arc::new(Core {
            is_deterministic,
            grows,
            quantum,
            nodes: OnceLock::new(),
            wires: OnceLock::new(),
            busy: Mutex::default(),
            fate: Fate::new(),
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
        if let Host::Here = host {
            start::can_be_sliced(self.quantum)?;
        }
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
        Ends { core: self.clone(), node, has_returned: false }
    }
}

/// Says at its end that a node has ended, which has run.
pub(crate) struct Ends {
    core: Arc<Core>,
    node: usize,
    /// Whether by itself.
    has_returned: bool,
}

impl Ends {
    /// The node has ended by itself, or by this panic, which is kept for those outside. An exit of a coroutine around it
    /// goes on.
    fn say(&mut self, ended: Result<(), Panic>) {
        match ended {
            Ok(()) => self.has_returned = true,
            Err(panic) if user::is_exit(&panic) => panic.resume(),
            Err(panic) if panic.payload().is::<Cut>() => {}
            Err(panic) => self.core.fate.fail(&self.core.node(self.node).name, Some(panic)),
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.core.node(self.node).temperature.store(ENDED, SeqCst);
        // Those whom this wakes run before this node does no more.
        let raised = fate::settle::<Parallel>(&self.core, self.node, !self.has_returned);
        if let Some(panic) = raised {
            self.core.fate.fail(&self.core.node(self.node).name, Some(panic));
        }
        self.core.has_ended(lock(&self.core.busy), self.node);
    }
}
