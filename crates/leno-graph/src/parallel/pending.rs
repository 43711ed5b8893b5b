//! Nodes that are futures, and what they await.
//!
//! Such a node may await several operations at once, by `join!` or `select!`, and counts as one that waits all the same:
//! from the end of a poll that leaves operations pending, until the ticket of one of them is used or it is polled again.
//! An operation that is polled elsewhere, because its node has handed it to another task, makes its node wait at once
//! unless that is being polled.

use std::sync::MutexGuard;

use super::{Busy, Core, Ticket};
use crate::lock::{Locked, lock};

/// What is known of a node that is a future; under the lock of `Busy`.
#[derive(Default)]
pub(super) struct Pending {
    /// The operations whose tickets were not used, by these, and what they wait for.
    operations: Vec<(usize, (bool, usize))>,
    is_polled: bool,
    /// Whether a ticket was used since its poll has begun: it will be polled again.
    is_woken: bool,
    /// Whether it counts as waiting.
    is_waiting: bool,
    has_ended: bool,
}

impl Ticket {
    /// A number that no other ticket has, as long as this one is there.
    fn number(&self) -> usize {
        std::sync::Arc::as_ptr(&self.0).addr()
    }
}

impl Busy {
    fn pending(&mut self, node: usize) -> &mut Pending {
        if self.futures.len() <= node {
            self.futures.resize_with(node + 1, Pending::default);
        }
        &mut self.futures[node]
    }

    /// The node counts as running, if it did not.
    fn runs(&mut self, node: usize) {
        if std::mem::take(&mut self.pending(node).is_waiting) {
            self.running += 1;
        }
    }

    /// The node counts as waiting from now on, if it does wait.
    fn waits(&mut self, node: usize) {
        let pending = self.pending(node);
        let is_busy = pending.is_polled || pending.is_woken || pending.has_ended;
        if !is_busy && !pending.is_waiting && !pending.operations.is_empty() {
            pending.is_waiting = true;
            self.running = self.running.saturating_sub(1);
        }
    }

    /// The ticket of a node's operation was used.
    pub(super) fn wakes(&mut self, node: usize, ticket: &Ticket) {
        let number = ticket.number();
        let pending = self.pending(node);
        pending.operations.retain(|(other, _)| *other != number);
        pending.is_woken = true;
        self.runs(node);
    }

    /// A node's operation that was pending is over or dropped.
    pub(super) fn forgets(&mut self, node: usize, ticket: &Ticket) {
        let number = ticket.number();
        let pending = self.pending(node);
        pending.operations.retain(|(other, _)| *other != number);
        // What it awaits from now on is none of the graph's.
        if pending.operations.is_empty() {
            self.runs(node);
        }
    }

    /// What this node waits for.
    pub(super) fn wants(&self, node: usize) -> Vec<(bool, usize)> {
        let pending = self.futures.get(node).into_iter().flat_map(|node| &node.operations);
        pending.map(|(_, want)| *want).collect()
    }
}

impl Core {
    /// An operation of a node waits for this.
    pub(super) fn waits_for(&self, node: usize, ticket: &Ticket, want: (bool, usize)) {
        let mut busy = lock(&self.busy);
        // Contexts can be kept, and used when the node has ended.
        if ticket.is_used() || busy.pending(node).has_ended {
            return;
        }
        let number = ticket.number();
        busy.pending(node).operations.push((number, want));
        busy.waits(node);
        self.tell_if_stuck(busy);
    }

    /// The node is polled.
    pub(super) fn begins_poll(&self, node: usize) {
        let mut busy = lock(&self.busy);
        busy.runs(node);
        let pending = busy.pending(node);
        (pending.is_polled, pending.is_woken) = (true, false);
    }

    /// Its poll has returned, and it is not over.
    pub(super) fn ends_poll(&self, node: usize) {
        let mut busy = lock(&self.busy);
        busy.pending(node).is_polled = false;
        busy.waits(node);
        self.tell_if_stuck(busy);
    }

    /// The node has ended, of whichever kind it is: it runs no more.
    pub(super) fn has_ended(&self, mut busy: Locked<MutexGuard<'_, Busy>>, node: usize) {
        busy.runs(node);
        let pending = busy.pending(node);
        pending.has_ended = true;
        pending.operations.clear();
        self.rests(busy);
    }
}
