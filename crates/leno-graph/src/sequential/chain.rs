//! How a deterministic graph is run on one thread: control passes from whoever needs something to
//! whoever can give it, and back. There is no queue, and nothing is allocated for a message.
//!
//! Each who waits, waits for exactly one other: a receiver for the sender of its channel, a sender for
//! the receiver. So those who wait form a chain, from the one outside to the one who runs; each knows who
//! waits for it:
//!
//! - Who cannot go on suspends, and the one that it waits for is added to the chain, with those that one
//!   waits for, up to one who can run.
//! - Who has sent a message that fills a channel that is *awaited*, because its demander waits there,
//!   hands control to it at once, as an iterator returns to its caller.
//! - Whenever someone suspends or ends, and its demander can go on, that one does, and the chain is
//!   shorter by one.
//!
//! A node that is a future may also await something that is none of the graph's. Then nobody of
//! the graph can run, for all others wait for it: the one outside parks until the node is woken.
//!
//! If the next in the chain is in it already, those between wait for each other: a deadlock. If one of
//! them waits to send, a larger channel would help (an *artificial* deadlock): the smallest full one
//! grows, if the graph says so.
//!
//! Not here: a receiver whose sender has handed control over before runs it itself, and the chain is not
//! asked; see [`hand`](super::hand).

use std::rc::Rc;

use super::{Core, Node, Runner};
use crate::channel::Linked;
use crate::error::{Deadlock, Until, Wait};
use crate::mode::Sequential;
use crate::run::Temperature;

/// The one outside.
pub(super) const OUTSIDE: usize = usize::MAX;
pub(super) const NOBODY: usize = usize::MAX - 1;

/// What someone waits for; channels and nodes by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Nothing,
    Receive(usize),
    Send(usize),
    /// The end of a node.
    End(usize),
    /// Something that is none of the graph's, which will wake it: only of nodes that are futures.
    Wake,
}

impl Core {
    #[inline(always)]
    fn want(&self, who: usize) -> Want {
        if who == OUTSIDE { self.root.get() } else { self.node(who).want.get() }
    }

    pub(super) fn is_satisfied(&self, want: Want) -> bool {
        match want {
            // What a future awaits only it knows.
            Want::Nothing | Want::Wake => true,
            Want::Receive(wire) => self.wire(wire).can_take(),
            Want::Send(wire) => self.wire(wire).can_push(),
            Want::End(node) => self.node(node).temperature.get() == Temperature::Ended,
        }
    }

    /// Who can give what is wanted: not a node that has ended, whose ends may be forgotten, or with somebody else.
    fn partner(&self, want: Want) -> usize {
        let partner = self.other_side(want);
        let has_ended = partner < NOBODY && self.temperature(partner).is_ended();
        if has_ended { NOBODY } else { partner }
    }

    fn other_side(&self, want: Want) -> usize {
        let first = |wire: usize, nodes: fn(&Linked<Sequential>) -> &[usize]| {
            let wire = self.wire(wire);
            wire.get_linked().and_then(|own| nodes(own).first().copied()).unwrap_or(OUTSIDE)
        };
        match want {
            Want::Nothing | Want::Wake => NOBODY,
            Want::Receive(wire) => first(wire, |own| &own.producers),
            Want::Send(wire) => first(wire, |own| &own.consumers),
            Want::End(node) => node,
        }
    }

    /// Adds `node` to the chain: `demander` waits for it.
    fn add(&self, node: usize, demander: usize) {
        self.node(node).demander.set(demander);
        self.node(node).is_in_chain.set(true);
        self.set_awaited(self.want(demander), true);
    }

    /// Takes the one at the top out of the chain. Who waited for it.
    fn remove(&self, node: usize) -> usize {
        let demander = self.node(node).demander.get();
        self.node(node).is_in_chain.set(false);
        self.set_awaited(self.want(demander), false);
        demander
    }

    fn set_awaited(&self, want: Want, is_awaited: bool) {
        if let Want::Receive(wire) = want {
            let wire = self.wire(wire);
            wire.get_linked().into_iter().for_each(|linked| linked.set_awaited(is_awaited));
        }
    }

    /// Runs nodes until `want`, of the one outside, is satisfied.
    #[track_caller]
    pub(super) fn drive(self: &Rc<Core>, want: Want) -> Result<(), Deadlock> {
        let _running = self.enter();
        self.root.set(want);
        let unlinks = Unlinks(self);
        let mut top = OUTSIDE;
        loop {
            let partner = self.partner(self.want(top));
            if self.want(top) == Want::Wake {
                return Err(self.explain_chain(top));
            }
            if partner >= NOBODY || self.node(partner).is_in_chain.get() {
                match self.grow(top, partner) {
                    Some(who) => top = who,
                    None => return Err(self.explain_chain(top)),
                }
                if top == OUTSIDE {
                    return Ok(());
                }
            } else {
                self.add(partner, top);
                top = partner;
            }
            top = self.run_chain(top);
            if top == OUTSIDE {
                // Everyone has left the chain.
                core::mem::forget(unlinks);
                return Ok(());
            }
        }
    }

    /// Runs whoever is at the top of the chain and can run, until the top waits for someone who is not
    /// in the chain.
    fn run_chain(self: &Rc<Core>, mut top: usize) -> usize {
        if !self.is_satisfied(self.want(top)) {
            return top;
        }
        loop {
            let node = self.node(top);
            node.want.set(Want::Nothing);
            let hands_over = self.run_node(top);
            if hands_over || self.is_satisfied(self.want(node.demander.get())) {
                top = self.remove(top);
                if top == OUTSIDE {
                    return OUTSIDE;
                }
            } else if node.want.get() == Want::Wake {
                if !self.wait_for_wake(node) {
                    return top;
                }
            } else if !self.is_satisfied(node.want.get()) || self.temperature(top).is_ended() {
                return top;
            }
        }
    }

    /// Parks until a node is woken that awaits something that is none of the graph's: `false` if nobody
    /// can wake it.
    #[cold]
    fn wait_for_wake(&self, node: &Node) -> bool {
        match &*node.runner.borrow() {
            Some(Runner::Future(_, own)) => own.wait(),
            _ => false,
        }
    }

    /// Lets one who was sent something from outside have a look at it, if it can run.
    #[track_caller]
    pub(super) fn nudge(self: &Rc<Core>, index: usize) {
        let node = self.node(index);
        if self.is_satisfied(node.want.get()) {
            let _running = self.enter();
            self.root.set(Want::Nothing);
            let unlinks = Unlinks(self);
            node.demander.set(OUTSIDE);
            node.want.set(Want::Nothing);
            self.run_node(index);
            core::mem::forget(unlinks);
        }
    }

    /// Makes room in the smallest of the full channels of a circle, if the graph says so: who can go on
    /// by that, at the top of what is left of the chain.
    fn grow(&self, top: usize, bottom: usize) -> Option<usize> {
        if !self.grows {
            return None;
        }
        let (mut smallest, mut who) = (None::<(usize, usize, usize)>, top);
        loop {
            if let Want::Send(wire) = self.want(who) {
                let capacity = self.wire(wire).counters().capacity;
                if smallest.is_none_or(|(least, ..)| capacity < least) {
                    smallest = Some((capacity, wire, who));
                }
            }
            if who == OUTSIDE || who == bottom {
                break;
            }
            who = self.node(who).demander.get();
        }
        let (_, wire, sender) = smallest?;
        self.wire(wire).grow();
        let mut who = top;
        while who != sender {
            who = self.remove(who);
        }
        Some(sender)
    }

    /// Who waits for whom, from the one outside on.
    #[cold]
    fn explain_chain(&self, top: usize) -> Deadlock {
        let (mut waits, mut who) = (Vec::new(), top);
        loop {
            let name = if who == OUTSIDE { "outside" } else { &self.node(who).name };
            waits.extend(self.wait_of(name, self.want(who)));
            if who == OUTSIDE {
                break;
            }
            who = self.node(who).demander.get();
        }
        waits.reverse();
        Deadlock { waits }
    }

    pub(super) fn wait_of(&self, name: &str, want: Want) -> Option<Wait> {
        let channel = |wire| self.wire(wire).name().to_owned();
        let until = match want {
            Want::Nothing | Want::End(_) => return None,
            Want::Receive(wire) => Until::Message(channel(wire)),
            Want::Send(wire) => Until::Room(channel(wire)),
            Want::Wake => Until::Woken,
        };
        Some(Wait { node: name.to_owned(), until })
    }

    /// Runs all who have started, and all who have something to receive, to their ends.
    #[track_caller]
    pub(crate) fn finish(self: &Rc<Core>) -> Result<(), Deadlock> {
        let finished = if self.is_chain { self.finish_chain() } else { self.finish_loop() };
        self.fate.raise_if_panicked();
        finished
    }

    #[track_caller]
    fn finish_chain(self: &Rc<Core>) -> Result<(), Deadlock> {
        let count = self.nodes.get().map_or(0, |nodes| nodes.len());
        loop {
            let has_input = |node: usize| {
                let mut inputs = self.wires().filter(|wire| {
                    wire.get_linked().is_some_and(|linked| linked.consumers.contains(&node))
                });
                inputs.any(|wire| wire.has_message())
            };
            let due = (0..count).find(|node| match self.temperature(*node) {
                Temperature::Hot => true,
                Temperature::Cold => has_input(*node),
                Temperature::Ended => false,
            });
            match due {
                Some(node) => self.drive(Want::End(node))?,
                None => return Ok(()),
            }
        }
    }
}

/// Takes everyone out of the chain, whichever way its run ends.
struct Unlinks<'a>(&'a Core);

impl Drop for Unlinks<'_> {
    fn drop(&mut self) {
        self.0.root.set(Want::Nothing);
        for wire in self.0.wires() {
            wire.get_linked().into_iter().for_each(|linked| linked.set_awaited(false));
        }
        for node in self.0.nodes.get().into_iter().flatten() {
            node.is_in_chain.set(false);
            node.demander.set(NOBODY);
        }
    }
}
