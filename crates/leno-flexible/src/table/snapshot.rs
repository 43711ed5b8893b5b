//! A table as it is, for those who look.

use super::{Cell, Id, Request, Table};
use crate::snapshot::{Seen, Snapshot};

impl Table {
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        let known = self.slots.iter().enumerate().filter(|(_, (_, cell))| cell.is_some());
        known.map(|(slot, (generation, _))| Id { slot, generation: *generation })
    }

    /// Everyone as they are.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let coroutines = self.ids().map(|id| self.seen(id)).collect();
        let queue = self.queue.iter().map(|id| self.name(*id)).collect();
        Snapshot { coroutines, queue }
    }

    /// One of them.
    pub(crate) fn seen(&self, id: Id) -> Seen {
        let Cell { name, state, caller, callee, waits_for, requests, .. } = self.cell(id);
        Seen {
            name: name.clone(),
            state: *state,
            caller: caller.as_ref().map(|caller| caller.from.party()),
            callee: callee.or(*waits_for).map(|callee| self.name(callee)),
            requests: requests.iter().map(Request::as_pending).collect(),
        }
    }
}
