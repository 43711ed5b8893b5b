//! Where a node waits: a [wait queue](leno_kernel::layer::queue) of its own, in which it has one wait for each thing that it
//! waits for at a time; the protocol is in the module above.
//!
//! A node with a stack waits for one thing. One that is a future may await several operations at once, by `join!` or
//! `select!`, and counts as one that waits all the same: from the end of a poll that leaves operations pending, until one
//! of them is settled or it is polled again. An operation that is polled elsewhere, because its node has handed it to
//! another task, makes its node wait at once unless that is being polled.

use core::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;

use leno_kernel::layer::queue::{First, Guard, HeapNode, Next, Shared, Stage, WaitQueue};
use leno_kernel::layer::{is_planted, user};
use leno_kernel::{Reason, Waiter, Wake, park};

use super::{Core, Ticket, Waited, Want};

/// What is known of a node, and its waits.
pub(super) type Desk = WaitQueue<Shared, Progress, Wait, 1>;
type Open<'d> = Guard<'d, Shared, Progress, Wait, 1>;

/// How far a node is; of the fields but the first, those of nodes that are futures.
#[derive(Default)]
pub(super) struct Progress {
    waits: u64,
    is_polled: bool,
    /// Whether an operation was settled since its poll has begun: it will be polled again.
    is_woken: bool,
    /// Whether it counts as waiting.
    is_waiting: bool,
    has_ended: bool,
}

/// One wait of a node.
pub(super) struct Wait {
    number: u64,
    want: Want,
    is_future: bool,
    /// Whether it has looked in vain: then a node with a stack runs no more, and one that is a future may not.
    counts: Cell<bool>,
}

impl Wait {
    fn new(desk: &mut Progress, want: Want, is_future: bool) -> Wait {
        desk.waits += 1;
        Wait { number: desk.waits, want, is_future, counts: Cell::new(false) }
    }
}

/// The wait of an operation that a node which is a future awaits.
#[doc(hidden)]
pub struct Operation<'a> {
    node: HeapNode<'a, Shared, Progress, Wait, 1>,
    pub(super) ticket: Ticket,
}

fn counts(desk: &Open<'_>) -> bool {
    desk.iter(0).any(|wait| wait.payload.counts.get())
}

impl Core {
    /// Ends a wait of a node, which counts as running from now on.
    pub(super) fn wake_node(&self, ticket: Ticket) {
        let mut desk = self.node(ticket.node).desk.lock();
        let mut waits = desk.iter(0);
        let Some(key) = waits.find(|wait| wait.payload.number == ticket.number).map(|it| it.key)
        else {
            return;
        };
        drop(waits);
        let how = |wait: &mut Wait, ()| (wait.is_future, wait.counts.replace(false));
        let Ok(((is_future, counted), waiter)) = desk.settle(0, key, Stage::Met, (), how) else {
            return;
        };
        if is_future {
            desk.is_woken = true;
            self.runs(&mut desk);
        } else if counted {
            self.running.fetch_add(1, SeqCst);
        }
        drop(desk);
        if let Some(waiter) = waiter.filter(|_| !is_planted("graph-wake")) {
            waiter.wake();
        }
    }

    /// Has a node with a stack wait, unless `look` finds that it need not, until it is woken: see [`Core::wait`].
    pub(super) fn wait_in_node(
        &self,
        node: usize,
        reason: Reason,
        want: Want,
        look: impl FnOnce(Ticket) -> bool,
    ) -> Waited {
        // Not under the lock: it panics where nobody may wait, and a panic hook is user code.
        let waiter = Waiter::current();
        let own = &self.node(node).desk;
        let mut desk = own.lock();
        let wait = Wait::new(&mut desk, want, false);
        let number = wait.number;
        let first = || {
            if look(Ticket { node, number }) {
                return First::Leave;
            }
            let desk = own.lock();
            let mut waits = desk.iter(0);
            let wait = waits.find(|wait| wait.payload.number == number);
            wait.as_ref().inspect(|wait| wait.payload.counts.set(true));
            let is_settled = wait.is_none();
            drop(waits);
            drop(desk);
            if is_settled {
                return First::Leave;
            }
            self.rests();
            First::Wait
        };
        let mut is_to_exit = false;
        let next = || {
            is_to_exit = park(reason) == Wake::Exit;
            if is_to_exit { Next::Leave } else { Next::Look }
        };
        let abandon = |_: Open<'_>, left: leno_kernel::layer::queue::Left<Wait>| {
            self.runs_again(&left.payload)
        };
        let (desk, left) = desk.wait(0, waiter, wait, first, next, abandon);
        self.runs_again(&left.payload);
        drop(desk);
        if is_to_exit { Waited::Exit } else { Waited::Look }
    }

    /// A node with a stack has ended its wait by itself.
    fn runs_again(&self, wait: &Wait) {
        if wait.counts.replace(false) {
            self.running.fetch_add(1, SeqCst);
        }
    }

    /// A node that is a future counts as running, if it did not.
    fn runs(&self, desk: &mut Open<'_>) {
        if core::mem::take(&mut desk.is_waiting) {
            self.running.fetch_add(1, SeqCst);
        }
    }

    /// A node that is a future counts as waiting from now on, if it does wait.
    fn may_wait(&self, mut desk: Open<'_>) {
        let is_busy = desk.is_polled || desk.is_woken || desk.has_ended;
        if is_busy || desk.is_waiting || !counts(&desk) {
            return;
        }
        desk.is_waiting = true;
        drop(desk);
        self.rests();
    }

    /// An operation of a node is going to wait: from now on it can be woken.
    pub(super) fn begins_wait(&self, node: usize, waiter: Waiter, want: Want) -> Operation<'_> {
        let mut desk = self.node(node).desk.lock();
        let wait = Wait::new(&mut desk, want, true);
        let ticket = Ticket { node, number: wait.number };
        Operation { node: desk.link_on_heap(0, waiter, wait), ticket }
    }

    /// An operation of a node waits, after it has looked in vain.
    pub(super) fn waits_for<'a>(&'a self, own: &Operation<'a>) {
        let mut desk = self.node(own.ticket.node).desk.lock();
        // Contexts can be kept, and used when the node has ended.
        if desk.stage(own.node.handle()) == Stage::Waiting && !desk.has_ended {
            desk.payload(own.node.handle()).counts.set(true);
            self.may_wait(desk);
        }
    }

    /// A node's operation is over or dropped.
    pub(super) fn forget<'a>(&'a self, own: Operation<'a>) {
        let mut desk = self.node(own.ticket.node).desk.lock();
        let left = desk.leave(own.node);
        // What it awaits from now on is none of the graph's.
        if left.stage == Stage::Waiting && !counts(&desk) {
            self.runs(&mut desk);
        }
        drop(desk);
        user::discard(left);
    }

    /// The node is polled.
    pub(super) fn begins_poll(&self, node: usize) {
        let mut desk = self.node(node).desk.lock();
        self.runs(&mut desk);
        (desk.is_polled, desk.is_woken) = (true, false);
    }

    /// Its poll has returned, and it is not over.
    pub(super) fn ends_poll(&self, node: usize) {
        let mut desk = self.node(node).desk.lock();
        desk.is_polled = false;
        self.may_wait(desk);
    }

    /// The node has ended, of whichever kind it is: it runs no more.
    pub(super) fn has_ended(&self, node: usize) {
        let mut desk = self.node(node).desk.lock();
        self.runs(&mut desk);
        desk.has_ended = true;
        drop(desk);
        self.rests();
    }

    /// What a node waits for.
    pub(super) fn wants(&self, node: usize) -> Vec<Want> {
        let mut wants = Vec::new();
        let desk = self.node(node).desk.lock();
        if !desk.has_ended {
            wants.extend(
                desk.iter(0).filter(|it| it.payload.counts.get()).map(|it| it.payload.want),
            );
        }
        drop(desk);
        wants
    }
}
