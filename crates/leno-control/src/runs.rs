//! All runs of several fibres that are wired together, one node for each way they can stand.
//!
//! A fibre that could do one of several things is free at first; then it may choose, and waits for what it
//! has chosen (`machine.rs` says what can be chosen). Choices are no steps.
//!
//! Deliberately not here: what is wrong with a run; see `fits.rs`.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;

use crate::compose::{Wiring, pairs};
use crate::error::TooLarge;
use crate::event::Event;
use crate::machine::{Machine, Offer};
use crate::work::Work;

/// One step of several fibres.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// One of them does something visible.
    Alone {
        /// Which of them, counted from 0.
        part: usize,
        /// What it does.
        event: Event,
    },
    /// Two of them meet at a wire. Printed as `W/R`.
    Meeting {
        /// Who writes.
        writer: usize,
        /// Where.
        write: Event,
        /// Who reads.
        reader: usize,
        /// Where.
        read: Event,
    },
}

impl Step {
    /// What that part does in it.
    #[must_use]
    pub fn event_of(&self, by: usize) -> Option<&Event> {
        match self {
            Self::Alone { part, event } => (*part == by).then_some(event),
            Self::Meeting { writer, write, .. } if *writer == by => Some(write),
            Self::Meeting { reader, read, .. } => (*reader == by).then_some(read),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone { event, .. } => event.fmt(f),
            Self::Meeting { write, read, .. } => write!(f, "{write}/{read}"),
        }
    }
}

/// Where one part is: still free to choose among its offers, or waiting with one of them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub(crate) place: usize,
    pub(crate) waits: Option<Offer>,
}

/// A step, and the node that it leads to.
type Successor = (Option<Step>, Vec<Spot>);

/// A step from one node to another; none is a choice that some part makes.
pub(crate) struct Move {
    pub(crate) step: Option<Step>,
    pub(crate) to: usize,
}

/// All that can happen: nodes in the order of the length of the shortest run to them.
pub(crate) struct Runs<'a, W> {
    pub(crate) machines: &'a [&'a Machine],
    pub(crate) wiring: &'a W,
    pub(crate) nodes: Vec<Vec<Spot>>,
    pub(crate) moves: Vec<Vec<Move>>,
    /// What is left of the work that all questions about them may take.
    pub(crate) work: Work,
    /// The events of each machine.
    pub(crate) events: Vec<BTreeSet<Event>>,
    /// How each node was first reached.
    from: Vec<Option<(usize, Option<Step>)>>,
}

impl<'a, W: Wiring> Runs<'a, W> {
    pub(crate) fn new(machines: &'a [&'a Machine], wiring: &'a W) -> Result<Self, TooLarge> {
        let mut runs = Self {
            machines,
            wiring,
            nodes: Vec::new(),
            moves: Vec::new(),
            work: Work::new(),
            events: machines.iter().map(|machine| machine.events()).collect(),
            from: Vec::new(),
        };
        let mut numbers = HashMap::new();
        // Choices are no steps: what they lead to is as near as where they are made.
        let mut waiting =
            VecDeque::from([(vec![Spot { place: 0, waits: None }; machines.len()], None)]);
        while let Some((node, from)) = waiting.pop_front() {
            if numbers.contains_key(&node) {
                continue;
            }
            let number = runs.nodes.len();
            if number > TooLarge::MOST_STATES {
                return Err(TooLarge::of_states());
            }
            numbers.insert(node.clone(), number);
            for (step, to) in runs.successors(&node)? {
                let from = Some((number, step.clone()));
                match step {
                    None => waiting.push_front((to, from)),
                    Some(_) => waiting.push_back((to, from)),
                }
            }
            runs.nodes.push(node);
            runs.from.push(from);
        }
        for node in &runs.nodes {
            let moves = runs.successors(node)?.into_iter();
            runs.moves.push(moves.map(|(step, to)| Move { step, to: numbers[&to] }).collect());
        }
        Ok(runs)
    }

    /// What the part can do at its spot, and where it is then.
    fn edges(&self, part: usize, spot: &Spot) -> Vec<(Event, usize)> {
        let edges = self.machines[part].places[spot.place].edges.iter();
        edges
            .filter(|(event, _)| spot.waits.as_ref().is_none_or(|offer| offer.contains(event)))
            .map(|(event, &to)| (event.clone(), to))
            .collect()
    }

    /// What the part can choose to wait for. Where it may end, it may also want one more event; the empty
    /// offer has made the machine forget that.
    fn choices(&self, part: usize, place: usize) -> Vec<Offer> {
        let place = &self.machines[part].places[place];
        let more = place.edges.keys().filter(|_| place.ends());
        let more = more.map(|event| Offer::from([event.clone()]));
        place.offers.iter().cloned().chain(more).collect()
    }

    fn successors(&self, node: &[Spot]) -> Result<Vec<Successor>, TooLarge> {
        // What keeping a node costs.
        let each = 4 * node.len();
        let moved = |moves: &[(usize, Spot)]| {
            let mut node = node.to_vec();
            moves.iter().for_each(|(part, spot)| node[*part] = spot.clone());
            node
        };
        let free = |place| Spot { place, waits: None };
        let mut found = Vec::new();
        for (part, spot) in node.iter().enumerate() {
            if spot.waits.is_none() {
                for offer in self.choices(part, spot.place) {
                    self.work.spend(each + offer.len())?;
                    let waits = Some(offer);
                    found.push((None, moved(&[(part, Spot { place: spot.place, waits })])));
                }
            }
            for (event, to) in self.edges(part, spot) {
                self.work.spend(each)?;
                if !self.wiring.is_hidden(part, &event) {
                    found.push((Some(Step::Alone { part, event }), moved(&[(part, free(to))])));
                }
            }
        }
        for (writer, reader) in pairs(node.len()) {
            for (write, wrote) in self.edges(writer, &node[writer]) {
                self.work.spend(self.machines[reader].places[node[reader].place].edges.len())?;
                for (read, has_read) in self.edges(reader, &node[reader]) {
                    if self.wiring.joins((writer, &write), (reader, &read)) {
                        self.work.spend(each)?;
                        let to = moved(&[(writer, free(wrote)), (reader, free(has_read))]);
                        let write = write.clone();
                        found.push((Some(Step::Meeting { writer, write, reader, read }), to));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The shortest run to a node.
    pub(crate) fn trace(&self, mut node: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some((from, step)) = &self.from[node] {
            steps.extend(step.clone());
            node = *from;
        }
        steps.reverse();
        steps
    }
}
