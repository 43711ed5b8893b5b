//! The lines of a network, in which code waits at its places: those of the network's [wait queue](leno_kernel::layer::queue).
//!
//! A pipe and a listener have two lines each, a socket for datagrams has one, and there is one for those who wait until
//! hosts are parted no more. All belong to one queue, whose state is the network: who looks and finds nothing comes into
//! line under the same lock, and the node of a wait is of one queue. A queue for each place would have a lock for each,
//! and a future would have to keep its place's queue alive beside the network.
//!
//! So the queue has lines that are made as the network grows. A number names one until that is closed, and is given to
//! another one then.
//!
//! Operations see the state and not the queue: they note which lines go on. The waits there are ended when the operation
//! is done, before it comes into line itself and before the lock is released ([`settle`]). All of a line are
//! woken at once and look again, each in its turn: who is first then is the policy's choice.

use leno_kernel::Waiter;
use leno_kernel::layer::queue::{Guard, HeapNode, Polled, Shared, Stage, WaitQueue};

use super::state::State;

/// A network, and those who wait for it.
pub(super) type Queue = WaitQueue<Shared, State, (), 0>;

/// A network that is locked.
pub(super) type Locked<'a> = Guard<'a, Shared, State, (), 0>;

/// A wait in one line, left when it is dropped.
pub(super) type Node<'a> = HeapNode<'a, Shared, State, (), 0>;

/// One of a network's lines. Its place has it, and closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line(usize);

impl Line {
    /// Its number in the queue.
    pub(super) fn number(self) -> usize {
        self.0
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Of each line, those who are polled and remember no place there.
    polled: Vec<Polled<()>>,
    free: Vec<usize>,
    /// Noted by the operation that has the lock; empty if none has.
    woken: Vec<usize>,
    closed: Vec<usize>,
}

impl Lines {
    /// Makes a line.
    pub(super) fn open(&mut self) -> Line {
        Line(self.free.pop().unwrap_or_else(|| {
            self.polled.push(Polled::new());
            self.polled.len() - 1
        }))
    }

    /// All who wait there go on.
    pub(super) fn wake(&mut self, line: Line) {
        self.woken.push(line.0);
    }

    /// All who wait there go on, and nobody comes there any more.
    pub(super) fn close(&mut self, line: Line) {
        self.wake(line);
        self.closed.push(line.0);
    }

    /// Has one that is polled woken, once. Returns a waiter that is not needed, because one that wakes the same is there;
    /// to be dropped without the lock.
    pub(super) fn poll(&mut self, line: Line, waiter: Waiter) -> Option<Waiter> {
        self.polled[line.0].add((), waiter, |(), ()| ())
    }
}

/// Ends the waits in the lines that were noted. Returns how to wake those who have waited.
#[must_use = "nobody else wakes them"]
pub(super) fn settle(network: &mut Locked<'_>) -> Vec<Waiter> {
    let lines = network.lines.polled.len();
    network.make_lines(lines);
    let mut waiters = Vec::new();
    let mut woken = core::mem::take(&mut network.lines.woken);
    for line in woken.drain(..) {
        while let Ok(((), waiter)) = network.settle_first(line, Stage::Met, (), |_, ()| ()) {
            waiters.extend(waiter);
        }
        let polled = &mut network.lines.polled[line];
        waiters.extend(core::iter::from_fn(|| polled.take(|()| true)));
    }
    let lines: &mut Lines = &mut network.lines;
    lines.woken = woken;
    lines.free.append(&mut lines.closed);
    waiters
}

#[cfg(test)]
mod tests;
