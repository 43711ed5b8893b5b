//! Types as the crate computes with them: deterministic automata that know what is offered.
//!
//! At a place of a machine several events may be possible, for two reasons. One fibre chooses by
//! itself: it then *offers* only the event that it has chosen, and waits for that one alone. Several
//! fibres that were composed may wait at several ports at once: they offer all of these together. The
//! difference decides who can get stuck, so each place has the sets of events that may be offered
//! there, the smallest ones only: whoever can be stuck with a set can be stuck with the smaller one
//! as well. The empty set means that it may have ended; no set at all, that it is busy for ever with
//! what nobody sees.
//!
//! Invariant: places are numbered in the order in which they are first reached from place 0, events
//! in their order, and no two places can do and offer the same. So equal behaviour is equal structure.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::error::TooLarge;
use crate::event::Event;
use crate::positions::Positions;
use crate::refine;
use crate::work::Work;

/// Events that are offered together.
pub(crate) type Offer = BTreeSet<Event>;

/// A state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) edges: BTreeMap<Event, usize>,
    pub(crate) offers: BTreeSet<Offer>,
}

impl Place {
    /// Whether it may have ended here.
    pub(crate) fn ends(&self) -> bool {
        self.offers.contains(&Offer::new())
    }
}

/// A deterministic automaton with offers; it starts at place 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) places: Vec<Place>,
}

impl Machine {
    /// The minimal one of what `positions` allows, which has no rules.
    pub(crate) fn of_positions(positions: &Positions, work: &Work) -> Result<Self, TooLarge> {
        let machine = explore(BTreeSet::from([0]), work, |set: &BTreeSet<usize>| {
            let next = positions.after(set, work)?;
            let offers = match set.iter().any(|&at| positions.is_complete(at)) {
                true => BTreeSet::from([Offer::new()]),
                false => next.keys().map(|event| Offer::from([event.clone()])).collect(),
            };
            Ok((next, offers))
        })?;
        machine.minimal(work)
    }

    /// The minimal one with other events in the place of these; several may become one.
    pub(crate) fn renamed(
        &self,
        change: &impl Fn(&Event) -> Event,
        work: &Work,
    ) -> Result<Self, TooLarge> {
        let machine = explore(BTreeSet::from([0]), work, |set: &BTreeSet<usize>| {
            let mut next: BTreeMap<Event, BTreeSet<usize>> = BTreeMap::new();
            let mut offers = BTreeSet::new();
            for place in set.iter().map(|&at| &self.places[at]) {
                work.spend(place.edges.len() + place.offers.iter().map(Offer::len).sum::<usize>())?;
                for (event, &to) in &place.edges {
                    next.entry(change(event)).or_default().insert(to);
                }
                offers.extend(place.offers.iter().map(|o| o.iter().map(change).collect::<Offer>()));
            }
            Ok((next, smallest(offers, work)?))
        })?;
        machine.minimal(work)
    }

    /// All events that occur.
    pub(crate) fn events(&self) -> BTreeSet<Event> {
        self.places.iter().flat_map(|place| place.edges.keys().cloned()).collect()
    }

    /// The minimal one, whose table (a row for each place, a column for each event) is not too large.
    ///
    /// # Errors
    ///
    /// If it is.
    pub(crate) fn minimal(&self, work: &Work) -> Result<Self, TooLarge> {
        let minimal = self.merged();
        work.spend_product(minimal.places.len(), minimal.events().len())?;
        Ok(minimal)
    }

    /// The minimal one if only ends are told apart, not what is offered.
    pub(crate) fn minimal_by_ends(&self) -> Self {
        let by_ends = |place: &Place| Place {
            edges: place.edges.clone(),
            offers: place.ends().then(Offer::new).into_iter().collect(),
        };
        Self { places: self.places.iter().map(by_ends).collect() }.merged()
    }

    /// Merges places that offer the same and go on alike, and numbers them anew.
    fn merged(&self) -> Self {
        let edges: Vec<_> = self.places.iter().map(|place| &place.edges).collect();
        let classes =
            refine::blocks(self.places.iter().map(|place| &place.offers).collect(), &edges);
        let mut merged: Vec<Option<Place>> = vec![None; self.places.len()];
        for (at, place) in self.places.iter().enumerate() {
            merged[classes[at]].get_or_insert_with(|| {
                let edges = place.edges.iter().map(|(event, &to)| (event.clone(), classes[to]));
                Place { edges: edges.collect(), offers: place.offers.clone() }
            });
        }
        let in_order = explore(classes[0], &Work::unlimited(), |&class| {
            let place = merged[class].as_ref().expect("each class has a place");
            Ok((place.edges.clone(), place.offers.clone()))
        });
        in_order.expect("merging makes no new places")
    }
}

/// Those offers that contain no other.
pub(crate) fn smallest(offers: BTreeSet<Offer>, work: &Work) -> Result<BTreeSet<Offer>, TooLarge> {
    let size = |offer: &Offer| offer.len();
    if offers.iter().map(size).min() == offers.iter().map(size).max() {
        // One that contains another is larger.
        return Ok(offers);
    }
    work.spend_product(offers.len(), offers.iter().map(size).sum())?;
    let contains_other =
        |offer: &Offer| offers.iter().any(|other| other != offer && other.is_subset(offer));
    Ok(offers.iter().filter(|offer| !contains_other(offer)).cloned().collect())
}

/// Finds all places that can be reached from `start`, breadth first, by asking what each can do and
/// offer.
pub(crate) fn explore<N: Clone + Eq + std::hash::Hash>(
    start: N,
    work: &Work,
    look: impl Fn(&N) -> Result<(BTreeMap<Event, N>, BTreeSet<Offer>), TooLarge>,
) -> Result<Machine, TooLarge> {
    let mut numbers = HashMap::from([(start.clone(), 0)]);
    let mut waiting = VecDeque::from([start]);
    let mut places = Vec::new();
    while let Some(node) = waiting.pop_front() {
        let (next, offers) = look(&node)?;
        // Edges are kept, offered, and looked at again and again when places are merged.
        work.spend(8 * next.len())?;
        let mut edges = BTreeMap::new();
        for (event, to) in next {
            let new = numbers.len();
            let number = *numbers.entry(to).or_insert_with_key(|to| {
                waiting.push_back(to.clone());
                new
            });
            edges.insert(event, number);
        }
        places.push(Place { edges, offers });
        if numbers.len() > TooLarge::MOST_STATES {
            return Err(TooLarge::of_states());
        }
    }
    Ok(Machine { places })
}
