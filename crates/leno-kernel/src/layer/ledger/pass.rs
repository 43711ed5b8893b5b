//! Who can ever be woken: the pass.
//!
//! A coroutine is *reached* if it can run, or waits for something other than a channel of the
//! ledger, or waits at a channel whose opposite end is reached. An end is reached if a reached
//! coroutine knows it, or if it travels in a channel whose receiving end is reached. Whoever is not
//! reached can never be woken, also if several know each other in a circle.
//!
//! # Those who are told
//!
//! Who waits for the end of another, or for a value *or the close*, goes on when others are removed:
//! it is told. So nobody is removed whom it could wake then, and in a first pass it counts as reached.
//!
//! That leaves circles through such a wait: it waits for others, who wait for it. When nobody can run,
//! a second pass finds them: it takes nobody for reached who waits to be told. Of those it does not
//! reach, one is told, by removing exactly its *tellers*: the other whose end it waits for, or all who
//! know the end by which it could get a value. Nothing would ever have woken them, as long as it
//! was not told; and what it is told is true, because their ends are gone. Then others may be
//! reached again, so it is one at a time, the first by number.
//!
//! Nobody gives way who waits to be told itself. So a circle of such waits alone stays: to tell one of
//! them it would have to be said that nobody can ever send, and the next one in the circle, told as
//! well, could.

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

/// What a coroutine waits for, as far as the ledger can judge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait<'a> {
    /// That someone uses this end.
    One(End),
    /// That someone uses one of these.
    Any(&'a [End]),
    /// That someone uses this end, or the word that nobody will.
    Word(End),
    /// The end of this one.
    Join(Co),
}

impl Wait<'_> {
    fn ends(&self) -> &[End] {
        match self {
            Wait::One(end) | Wait::Word(end) => core::slice::from_ref(end),
            Wait::Any(ends) => ends,
            Wait::Join(_) => &[],
        }
    }

    /// Whether it goes on when others are removed.
    pub(super) fn is_told(&self) -> bool {
        matches!(self, Wait::Word(_) | Wait::Join(_))
    }
}

/// One pass over some who wait; whoever is reached otherwise is put in by its caller.
pub(super) struct Pass<'a> {
    ledger: &'a Ledger,
    /// Who waits, by the ends they need.
    waiting: BTreeMap<End, Vec<Co>>,
    /// Who waits, by whose end they wait for.
    joining: BTreeMap<Co, Vec<Co>>,
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
    pub(super) fn new<'w>(
        ledger: &'a Ledger,
        waiting: impl Iterator<Item = (Co, Wait<'w>)>,
    ) -> Pass<'a> {
        let mut pass = Pass {
            ledger,
            waiting: BTreeMap::new(),
            joining: BTreeMap::new(),
            ends: BTreeSet::new(),
            cos: BTreeSet::new(),
            next: Vec::new(),
        };
        for (co, wait) in waiting {
            for end in wait.ends() {
                pass.waiting.entry(*end).or_default().push(co);
            }
            if let Wait::Join(other) = wait {
                pass.joining.entry(other).or_default().push(co);
            }
        }
        pass
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
                    for joins in self.joining.remove(&co).unwrap_or_default() {
                        self.reach_co(joins);
                    }
                }
                Found::End(end) => self.spread_end(end),
            }
        }
    }

    fn spread_end(&mut self, end: End) {
        for co in self.waiting.remove(&end).unwrap_or_default() {
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

/// Each coroutine, with what it is parked for, if it is.
type All<'a> = &'a [(Co, Option<Reason>)];

impl Ledger {
    /// Whether it knows anything of this channel.
    fn has(&self, channel: Object) -> bool {
        self.channels.contains_key(&channel)
    }

    /// What it waits for, as far as the ledger can judge it.
    pub(super) fn waits(&self, co: Co, reason: Option<Reason>) -> Option<Wait<'_>> {
        let end = |channel, side| self.has(channel).then_some(End { channel, side });
        match reason? {
            Reason::Hungry(channel) => end(channel, Side::Sending).map(Wait::One),
            Reason::Blocked(channel) => end(channel, Side::Receiving).map(Wait::One),
            Reason::Expecting(channel) => end(channel, Side::Sending).map(Wait::Word),
            Reason::Joining(Some(other)) => Some(Wait::Join(other)),
            Reason::Future => {
                let ends = self.needs.get(&co)?;
                ends.iter().all(|end| self.has(end.channel)).then_some(Wait::Any(ends))
            }
            _ => None,
        }
    }

    /// One pass over all coroutines: a verdict for each that waits at a channel of the ledger, and is
    /// not told.
    pub(crate) fn judge(&self, all: All<'_>) -> Vec<(Co, Verdict)> {
        let waits = |(co, reason): &(Co, Option<Reason>)| {
            Some((*co, self.waits(*co, *reason).filter(|wait| !wait.is_told())?))
        };
        let waiting: Vec<(Co, Wait<'_>)> = all.iter().filter_map(waits).collect();
        let mut pass = Pass::new(self, waiting.iter().copied());
        for one in all.iter().filter(|one| waits(one).is_none()) {
            pass.reach_co(one.0);
        }
        pass.spread();
        let reached: Vec<bool> = waiting.iter().map(|(co, _)| pass.is_reached(*co)).collect();
        for end in self.world.keys() {
            pass.reach_end(*end);
        }
        pass.spread();
        let verdict =
            |((co, _), reached): (&(Co, Wait<'_>), bool)| match (reached, pass.is_reached(*co)) {
                (true, _) => (*co, Verdict::Reached),
                (false, true) => (*co, Verdict::Zombie),
                (false, false) => (*co, Verdict::Unreachable),
            };
        waiting.iter().zip(reached).map(verdict).collect()
    }

    /// Nobody can run, and nobody is unreachable by [`judge`](Self::judge): who must give way so that
    /// one goes on who waits to be told. Nobody, if there is no such circle.
    pub(crate) fn tellers(&self, all: All<'_>) -> Vec<Co> {
        let waits = |(co, reason): &(Co, Option<Reason>)| Some((*co, self.waits(*co, *reason)?));
        let waiting: BTreeMap<Co, Wait<'_>> = all.iter().filter_map(waits).collect();
        let mut pass = Pass::new(self, waiting.iter().map(|(co, wait)| (*co, *wait)));
        for (co, _) in all.iter().filter(|(co, _)| !waiting.contains_key(co)) {
            pass.reach_co(*co);
        }
        self.world.keys().for_each(|end| pass.reach_end(*end));
        pass.spread();
        let gives_way =
            |co: &Co| waiting.get(co).is_some_and(|wait| !wait.is_told()) && !pass.is_reached(*co);
        for (co, wait) in waiting.iter().filter(|(co, _)| !pass.is_reached(**co)) {
            let tellers = match wait {
                Wait::Word(end) => self.holders(*end, all),
                Wait::Join(other) => vec![*other],
                Wait::One(_) | Wait::Any(_) => continue,
            };
            debug_assert!(!tellers.contains(co) || !gives_way(co));
            if !tellers.is_empty() && tellers.iter().all(gives_way) {
                return tellers;
            }
        }
        Vec::new()
    }

    /// Who has an end: who knows it, and who waits to send a parcel with it.
    fn holders(&self, end: End, all: All<'_>) -> Vec<Co> {
        let knows = self.cos.iter().filter(|(_, ends)| ends.contains_key(&end)).map(|(co, _)| *co);
        let carriers = self.parcels.iter().filter(|(_, ends)| ends.contains_key(&end));
        let roads: BTreeSet<Object> = carriers.map(|(channel, _)| *channel).collect();
        let sends = all.iter().filter(|(_, reason)| match reason {
            Some(Reason::Blocked(channel)) => roads.contains(channel),
            _ => false,
        });
        knows.chain(sends.map(|(co, _)| *co)).collect()
    }
}
