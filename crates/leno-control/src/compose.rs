//! Several fibres side by side, wired together: what can be seen from outside.
//!
//! Each part goes on by itself with what is visible. Where one part writes and another one reads at
//! the two ends of a wire, both do so in one step, which nobody outside sees (Skaller 2017, 10.1). A
//! port on a wire is not visible any more, also if nobody is ever at the other end. Which of several
//! possible things happens is left open, so that a composition has every trace that some schedule
//! shows. That is its *principal type*: the smallest type it has.
//!
//! Deliberately not here: which ports a pipeline joins; see `pipeline.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::TooLarge;
use crate::event::{Event, Port};
use crate::machine::{Machine, Offer, explore, smallest};
use crate::work::Work;

/// A channel between a port that one fibre writes to and a port that another one reads from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wire {
    /// Who writes at this port ..
    pub from: Port,
    /// .. meets who reads at this one.
    pub to: Port,
}

impl Wire {
    /// The wire from a write port to a read port, by their names.
    ///
    /// # Panics
    ///
    /// If [`Port::new`] refuses a name.
    #[must_use]
    pub fn new(from: &str, to: &str) -> Self {
        let port = |name| Port::new(name).unwrap_or_else(|error| panic!("{error}"));
        Self { from: port(from), to: port(to) }
    }
}

/// What becomes of the events of the parts.
pub(crate) trait Wiring {
    /// Whether this event of that part is on a wire.
    fn is_hidden(&self, part: usize, event: &Event) -> bool;

    /// Whether a wire joins these two, of different parts, the first of which writes.
    fn joins(&self, writer: (usize, &Event), reader: (usize, &Event)) -> bool;
}

/// Wires by the names of ports, whichever part has them.
pub(crate) struct Named<'a>(pub(crate) &'a [Wire]);

impl Wiring for Named<'_> {
    fn is_hidden(&self, _part: usize, event: &Event) -> bool {
        self.0.iter().any(|wire| match event {
            Event::Write(port) => *port == wire.from,
            Event::Read(port) => *port == wire.to,
            Event::Spawn => false,
        })
    }

    fn joins(&self, writer: (usize, &Event), reader: (usize, &Event)) -> bool {
        match (writer.1, reader.1) {
            (Event::Write(from), Event::Read(to)) => {
                self.0.iter().any(|wire| wire.from == *from && wire.to == *to)
            }
            _ => false,
        }
    }
}

/// Two stages, one after the other: all that the first writes is read by the second.
pub(crate) struct Line;

impl Wiring for Line {
    fn is_hidden(&self, part: usize, event: &Event) -> bool {
        matches!((part, event), (0, Event::Write(_)) | (1, Event::Read(_)))
    }

    fn joins(&self, writer: (usize, &Event), reader: (usize, &Event)) -> bool {
        matches!((writer, reader), ((0, Event::Write(_)), (1, Event::Read(_))))
    }
}

/// Where each part is.
type Places = Vec<usize>;

/// What keeping one of them costs, beside a step for each part.
const STEPS: usize = 4;

/// What the parts show together.
pub(crate) fn product(parts: &[&Machine], wiring: &impl Wiring) -> Result<Machine, TooLarge> {
    let work = &Work::new();
    let start = closed(BTreeSet::from([vec![0; parts.len()]]), parts, wiring, work)?;
    let machine = explore(start, work, |set: &BTreeSet<Places>| {
        let mut next: BTreeMap<Event, BTreeSet<Places>> = BTreeMap::new();
        for places in set {
            for (part, event, to) in visible(places, parts, wiring) {
                work.spend(STEPS + parts.len())?;
                next.entry(event.clone()).or_default().insert(moved(places, &[(part, to)]));
            }
        }
        let closed = |(event, set)| Ok((event, closed(set, parts, wiring, work)?));
        let next = next.into_iter().map(closed).collect::<Result<_, TooLarge>>()?;
        Ok((next, offers(set, parts, wiring, work)?))
    })?;
    machine.minimal(work)
}

/// What each part can do by itself: the part, the event, and where it is then.
pub(crate) fn visible<'a>(
    places: &'a [usize],
    parts: &'a [&Machine],
    wiring: &'a impl Wiring,
) -> impl Iterator<Item = (usize, &'a Event, usize)> {
    let edges = |part: usize| parts[part].places[places[part]].edges.iter();
    (0..parts.len())
        .flat_map(move |part| edges(part).map(move |(event, &to)| (part, event, to)))
        .filter(|(part, event, _)| !wiring.is_hidden(*part, event))
}

/// The places with some parts elsewhere.
fn moved(places: &[usize], moves: &[(usize, usize)]) -> Places {
    let mut places = places.to_vec();
    for &(part, to) in moves {
        places[part] = to;
    }
    places
}

/// All places that can be reached by what nobody sees.
fn closed(
    mut set: BTreeSet<Places>,
    parts: &[&Machine],
    wiring: &impl Wiring,
    work: &Work,
) -> Result<BTreeSet<Places>, TooLarge> {
    let mut waiting: Vec<Places> = set.iter().cloned().collect();
    while let Some(places) = waiting.pop() {
        let edges = |part: usize| &parts[part].places[places[part]].edges;
        for (writer, reader) in pairs(parts.len()) {
            work.spend_product(edges(writer).len(), edges(reader).len())?;
            for (write, &wrote) in edges(writer) {
                for (read, &has_read) in edges(reader) {
                    if wiring.joins((writer, write), (reader, read)) {
                        let next = moved(&places, &[(writer, wrote), (reader, has_read)]);
                        if set.insert(next.clone()) {
                            work.spend(STEPS + parts.len())?;
                            waiting.push(next);
                        }
                    }
                }
            }
        }
        if set.len() > TooLarge::MOST_STATES {
            return Err(TooLarge::of_states());
        }
    }
    Ok(set)
}

/// All pairs of different parts, in both orders.
pub(crate) fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b)
}

/// What is offered to the outside while nothing can happen inside.
fn offers(
    set: &BTreeSet<Places>,
    parts: &[&Machine],
    wiring: &impl Wiring,
    work: &Work,
) -> Result<BTreeSet<Offer>, TooLarge> {
    let mut found = BTreeSet::new();
    for places in set {
        let mut chosen: Vec<Vec<&Offer>> = vec![Vec::new()];
        for (part, &place) in places.iter().enumerate() {
            let offers = &parts[part].places[place].offers;
            // Each choice so far, with each offer of this part.
            work.spend(chosen.len().saturating_mul(offers.len()).saturating_mul(part + 1))?;
            let with = |so_far: &Vec<_>, offer| so_far.iter().copied().chain([offer]).collect();
            chosen = chosen
                .iter()
                .flat_map(|so_far| offers.iter().map(move |offer| with(so_far, offer)))
                .collect();
        }
        for chosen in chosen {
            let events: usize = chosen.iter().map(|offer| offer.len()).sum();
            work.spend_product(events, events + 1)?;
            if can_meet(&chosen, wiring) {
                continue;
            }
            let events = chosen.iter().enumerate().flat_map(|(part, offer)| {
                offer.iter().filter(move |event| !wiring.is_hidden(part, event)).cloned()
            });
            found.insert(events.collect());
        }
    }
    smallest(found, work)
}

/// Whether two of the parts can meet at a wire.
pub(crate) fn can_meet(offers: &[&Offer], wiring: &impl Wiring) -> bool {
    pairs(offers.len()).any(|(writer, reader)| {
        offers[writer].iter().any(|write| {
            offers[reader].iter().any(|read| wiring.joins((writer, write), (reader, read)))
        })
    })
}
