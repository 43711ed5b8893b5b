//! What runs parallel graphs: each node is a coroutine of a system of several cores.
//!
//! # Waiting, and the deadlock nobody could see
//! Code that cannot go on waits in a [wait queue](leno_kernel::layer::queue): a node in its own (`desk.rs`), which nobody else
//! uses; one outside in that of the graph (`outside.rs`). Channels have the *tickets* of waits in their lines: numbers
//! that name them, of which one that is out of date does nothing. So one wait can stand in the lines of several channels.
//!
//! ```text
//!   waits                                       changes a channel
//!   W1  link the wait in its queue              C1  lock the channel: change it, take tickets out of a line; unlock
//!   W2  lock the channel: stand in line, or     C2  for each: lock its queue, settle the wait if it is linked, and
//!       not, if it need not wait; for joins         count its node as running if that counts as resting; unlock
//!       and selects: stand in all lines, then   C3  wake
//!       try once more                           C4  if there were more tickets than C1 takes at a time, go to C1
//!   W3  lock the queue: settled meanwhile? else
//!       the node counts as resting; unlock
//!   W4  park until the wait is settled; try again
//! ```
//!
//! Either the look of W2 sees the change of C1, or C1 comes later and finds the ticket.
//!
//! `running` counts nodes that have started and do not rest (of those that are futures: see `desk.rs`). Code that wakes a
//! node counts it before it does anything else, and is itself a node that is counted, or one outside that is not
//! blocked: so nobody on the way is forgotten. A node that comes to rest as the last one, and one outside that
//! comes to wait, look whether anybody runs and whether each end outside is one that someone waits at, under the lock of
//! those outside. If nobody can ever go on, those outside are told; those who wait for the end are when nobody runs.

mod desk;
mod operate;
mod outside;
mod schedule;
mod start;
mod waiting;

use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, Weak};

use leno_kernel::layer::user::{self, Panic};
use leno_kernel::{Budget, JoinHandle, Options, Start, System, try_spawn, try_spawn_future};

use self::desk::Desk;
pub(crate) use self::desk::Operation;
use self::outside::Outside;
pub(crate) use start::{Body, Starter, as_future, iterator, on_stack};

use crate::channel::Link;
use crate::error::BuildError;
use crate::fate::{self, Cut, Fate};
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
    /// How many nodes could still do something.
    running: AtomicIsize,
    outside: Outside,
    /// The number of the next attempt to receive that may be rolled back.
    attempts: AtomicU64,
    /// Whether a node has panicked.
    fate: Fate<Parallel>,
}

type AnyWire = Arc<dyn Link<Parallel> + Send + Sync>;
type WeakWire = Weak<dyn Link<Parallel> + Send + Sync>;

struct Node {
    name: String,
    handle: JoinHandle<()>,
    temperature: AtomicU8,
    desk: Desk,
}

const COLD: u8 = 0;
const HOT: u8 = 1;
const ENDED: u8 = 2;

/// The node of those who wait outside.
const OUTSIDE: usize = usize::MAX;

/// Names one wait of a node, or of one outside.
#[derive(Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct Ticket {
    node: usize,
    number: u64,
}

/// What one waits for: to send, or to receive, and in which channel.
#[derive(Clone, Copy)]
struct Want {
    sends: bool,
    wire: usize,
}

/// How a wait has ended.
enum Waited {
    /// It is worth another look.
    Look,
    /// The stack is to unwind.
    Exit,
    /// Nobody can ever go on.
    InVain,
}

impl Core {
    pub(crate) fn new(is_deterministic: bool, grows: bool, quantum: Budget) -> Arc<Core> {
        Arc::new(Core {
            is_deterministic,
            grows,
            quantum,
            nodes: OnceLock::new(),
            wires: OnceLock::new(),
            running: AtomicIsize::new(0),
            outside: Outside::new(outside::Ends::default()),
            attempts: AtomicU64::new(1),
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
        self.outside.lock().ends = ends;
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
            let (temperature, desk) = (AtomicU8::new(COLD), Desk::new(desk::Progress::default()));
            made.push(Node { name, handle, temperature, desk });
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
        self.core.has_ended(self.node);
    }
}
