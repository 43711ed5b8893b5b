//! Waiting in a parallel graph, and what is done when nobody can go on; the protocol is in the module above.

use leno_kernel::Reason;

use super::outside::Place;
use super::{Core, Ticket, Waited, Want};
use crate::cx::Caller;
use crate::error::{Deadlock, Until, Wait};
use crate::mode::Parallel;

impl Core {
    /// Waits until it is woken, unless `look` finds that it need not: that stands in the lines of all channels that
    /// could change this, and looks after that. `ends` is how many ends one outside waits with. An error if it waits in
    /// vain; `Err(None)` for one whose stack is to unwind.
    pub(super) fn wait(
        &self,
        caller: &Caller<'_, '_, Parallel>,
        reason: Reason,
        (want, ends): (Want, usize),
        look: impl FnOnce(Ticket) -> bool,
    ) -> Result<(), Option<Deadlock>> {
        let waited = match caller {
            Caller::Node(cx) => self.wait_in_node(cx.node, reason, want, look),
            Caller::Outside(end) => self.wait_outside(reason, Place::End(*end, ends), look),
        };
        match waited {
            Waited::Look => Ok(()),
            Waited::Exit => Err(None),
            Waited::InVain => Err(Some(self.explain(want))),
        }
    }

    /// Who waits for what, from the one outside on.
    fn explain(&self, want: Want) -> Deadlock {
        let wait = |node: &str, want: Want| {
            let channel = self.wire(want.wire)?.name().to_owned();
            let until = if want.sends { Until::Room(channel) } else { Until::Message(channel) };
            Some(Wait { node: node.to_owned(), until })
        };
        let mut waits: Vec<Wait> = wait("outside", want).into_iter().collect();
        for (index, node) in self.nodes.get().into_iter().flatten().enumerate() {
            waits.extend(self.wants(index).into_iter().filter_map(|want| wait(&node.name, want)));
        }
        Deadlock { waits }
    }

    /// Makes room in the smallest full channel that a node waits to send into, if the graph says so.
    pub(super) fn grow(&self) -> bool {
        if !self.grows {
            return false;
        }
        let nodes = 0..self.nodes.get().map_or(0, |nodes| nodes.len());
        let sends = nodes.flat_map(|node| self.wants(node)).filter(|want| want.sends);
        let full = sends.filter_map(|want| self.wire(want.wire));
        let smallest = full.min_by_key(|wire| wire.counters().capacity);
        smallest.is_some_and(|wire| {
            wire.grow();
            wire.wake_senders();
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
            match self.wait_for_rest() {
                Some(Waited::Exit) => {
                    leno_kernel::exit();
                    return Ok(());
                }
                Some(_) => continue,
                None => {}
            }
            let deadlock = self.explain(Want { sends: false, wire: usize::MAX });
            if deadlock.waits.is_empty() {
                return Ok(());
            }
            if !self.grow() {
                return Err(deadlock);
            }
        }
    }
}
