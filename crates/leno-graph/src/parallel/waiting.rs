//! Who waits in a parallel graph, for what, and how the end of everything is seen; the protocol is in the
//! module above.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering::SeqCst;

use leno_kernel::{Reason, Waiter, Wake, park};

use super::{Busy, Core, Ticket, Whose};
use crate::cx::Caller;
use crate::error::{Deadlock, Until, Wait};
use crate::lock::{Locked, lock};
use crate::mode::Parallel;

impl Core {
    /// One node runs no more for now.
    pub(super) fn rests(&self, mut busy: Locked<MutexGuard<'_, Busy>>) {
        busy.running = busy.running.saturating_sub(1);
        self.tell_if_stuck(busy);
    }

    /// Tells those outside if nobody can ever go on.
    pub(super) fn tell_if_stuck(&self, mut busy: Locked<MutexGuard<'_, Busy>>) {
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
        told.into_iter().for_each(|(ticket, _)| ticket.wake());
    }

    /// Parks until the ticket is used. For the one outside, whether it is in vain; a node whose stack is
    /// to unwind or unwinds gets `Err(None)`.
    pub(super) fn wait(
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
            let until = if sends { Until::Room(channel) } else { Until::Message(channel) };
            Some(Wait { node: node.to_owned(), until })
        };
        let mut waits: Vec<Wait> = wait("outside", (sends, wire)).into_iter().collect();
        for (index, node) in self.nodes.get().into_iter().flatten().enumerate() {
            waits.extend(self.wants(index).into_iter().filter_map(|want| wait(&node.name, want)));
        }
        Deadlock { waits }
    }

    /// What a node waits for: to send or to receive, and in which channel.
    fn wants(&self, node: usize) -> Vec<(bool, usize)> {
        let mut wants = lock(&self.busy).wants(node);
        wants.extend(*lock(&self.node(node).want));
        wants
    }

    /// Makes room in the smallest full channel that a node waits to send into, if the graph says so.
    pub(super) fn grow(&self) -> bool {
        if !self.grows {
            return false;
        }
        let nodes = 0..self.nodes.get().map_or(0, |nodes| nodes.len());
        let sends = nodes.flat_map(|node| self.wants(node)).filter(|(sends, _)| *sends);
        let full = sends.filter_map(|(_, wire)| self.wire(wire));
        let smallest = full.min_by_key(|wire| wire.counters().capacity);
        smallest.is_some_and(|wire| {
            wire.grow();
            wire.get_linked().into_iter().for_each(|linked| linked.wake(wire.senders_waiting()));
            true
        })
    }

    /// Waits until nobody runs.
    #[track_caller]
    pub(crate) fn finish(&self) -> Result<(), Deadlock> {
        let finished = self.wait_for_end();
        if !std::thread::panicking() {
            self.fate.raise_if_panicked();
        }
        finished
    }

    fn wait_for_end(&self) -> Result<(), Deadlock> {
        loop {
            let ticket = Ticket::new(Waiter::current(), Whose::Outside);
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
