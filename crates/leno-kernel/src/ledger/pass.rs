//! Who can ever be woken: the pass.
//!
//! A coroutine is *reached* if it can run, or waits for something other than a channel of the
//! ledger, or waits at a channel whose opposite end is reached. An end is reached if a reached
//! coroutine knows it, or if it travels in a channel whose receiving end is reached. Whoever is not
//! reached can never be woken, also if several know each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{End, Ledger, Side};
use crate::{Co, Object, Reason};

/// What a pass has found out about a coroutine that waits at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A coroutine that can run, or may be able to, could wake it.
    Reached,
    /// Nobody in the system could, but the world knows an end by which it could be woken.
    Zombie,
    /// Nobody ever can.
    Unreachable,
}

/// The end that whoever waits for `reason` needs another to use, if it is one of a channel.
pub(super) fn needs(reason: Reason) -> Option<End> {
    match reason {
        Reason::Hungry(channel) => Some(End { channel, side: Side::Sending }),
        Reason::Blocked(channel) => Some(End { channel, side: Side::Receiving }),
        _ => None,
    }
}

/// One pass. `waiting`: those that wait at a channel of the ledger, by the end they need; `roots`:
/// all others.
pub(super) struct Pass<'a> {
    ledger: &'a Ledger,
    waiting: BTreeMap<End, Vec<Co>>,
    ends: BTreeSet<End>,
    cos: BTreeSet<Co>,
    /// Reached, and not gone on from.
    next: Vec<Found>,
}

enum Found {
    Co(Co),
    End(End),
}

impl<'a> Pass<'a> {
    pub(super) fn new(ledger: &'a Ledger, waiting: impl Iterator<Item = (Co, End)>) -> Pass<'a> {
        let mut by_end: BTreeMap<End, Vec<Co>> = BTreeMap::new();
        for (co, end) in waiting {
            by_end.entry(end).or_default().push(co);
        }
        Pass {
            ledger,
            waiting: by_end,
            ends: BTreeSet::new(),
            cos: BTreeSet::new(),
            next: Vec::new(),
        }
    }

    pub(super) fn reach_co(&mut self, co: Co) {
        if self.cos.insert(co) {
            self.next.push(Found::Co(co));
        }
    }

    pub(super) fn reach_end(&mut self, end: End) {
        if self.ends.insert(end) {
            self.next.push(Found::End(end));
        }
    }

    /// Goes on from all that was reached.
    pub(super) fn spread(&mut self) {
        while let Some(found) = self.next.pop() {
            match found {
                Found::Co(co) => {
                    for end in self.ledger.ends_of(co) {
                        self.reach_end(end);
                    }
                }
                Found::End(end) => self.spread_end(end),
            }
        }
    }

    fn spread_end(&mut self, end: End) {
        for co in self.waiting.get(&end).cloned().unwrap_or_default() {
            self.reach_co(co);
        }
        if end.side == Side::Receiving {
            for parcel in self.ledger.parcels_in(end.channel) {
                self.reach_end(parcel);
            }
        }
    }

    pub(super) fn is_reached(&self, co: Co) -> bool {
        self.cos.contains(&co)
    }
}

impl Ledger {
    /// Whether it knows anything of this channel.
    fn has(&self, channel: Object) -> bool {
        self.channels.contains_key(&channel)
    }

    /// What it waits for, as far as the ledger can judge it.
    fn waits(&self, reason: Option<Reason>) -> Option<End> {
        reason.and_then(needs).filter(|end| self.has(end.channel))
    }

    /// One pass over all coroutines, each with what it is parked for, if it is: a verdict for each
    /// that waits at a channel of the ledger.
    pub(crate) fn judge(&self, all: &[(Co, Option<Reason>)]) -> Vec<(Co, Verdict)> {
        let waits = |(co, reason): &(Co, Option<Reason>)| Some((*co, self.waits(*reason)?));
        let waiting: Vec<(Co, End)> = all.iter().filter_map(waits).collect();
        let mut pass = Pass::new(self, waiting.iter().copied());
        for (co, _) in all.iter().filter(|(_, reason)| self.waits(*reason).is_none()) {
            pass.reach_co(*co);
        }
        pass.spread();
        let reached: Vec<bool> = waiting.iter().map(|(co, _)| pass.is_reached(*co)).collect();
        for end in self.world.keys() {
            pass.reach_end(*end);
        }
        pass.spread();
        let verdict = |((co, _), reached): (&(Co, End), bool)| match (reached, pass.is_reached(*co))
        {
            (true, _) => (*co, Verdict::Reached),
            (false, true) => (*co, Verdict::Zombie),
            (false, false) => (*co, Verdict::Unreachable),
        };
        waiting.iter().zip(reached).map(verdict).collect()
    }
}
