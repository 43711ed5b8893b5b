//! Stages as one fibre: of all schedules of a pipeline, the one in which the last stage that can go on
//! does.
//!
//! A value goes through all stages before the next one is read, so that nothing need be kept between them
//! and no channel is needed (Skaller 2017, 10.1: pick one automaton). One stage at a time does
//! something, and each has decided what: so at every place one event is offered, not several.
//!
//! A stage that has ended, or that writes to one that has, takes nothing any more. Those before it go on
//! until they would write to it; that is where the pipeline would be stuck, and is the end.
//!
//! It is worked out from the right, because that is not associative: two stages that are one fibre are stuck
//! together, where of two fibres the first one would go on.

use std::collections::{BTreeMap, BTreeSet};

use crate::control_type::ControlType;
use crate::error::TooLarge;
use crate::event::Event;
use crate::machine::{Machine, Offer, explore, smallest};
use crate::pipeline::{PipelineError, one_port};
use crate::work::Work;

/// The type of stages that follow one another and are one fibre: each value goes through all of them before
/// the next one is read. It is included in their [principal type](crate::pipeline), which has all
/// schedules.
///
/// ```
/// use leno_control::{ControlType, fused, pipeline};
///
/// let stages = ["(RW)+", "(RWW)+", "(RW)+"].map(|text| text.parse::<ControlType>().unwrap());
/// let one = fused(&stages)?;
/// assert_eq!(one, "(RWW)+".parse()?);
/// assert!(one < pipeline(&stages)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`pipeline`](crate::pipeline()).
pub fn fused(stages: &[ControlType]) -> Result<ControlType, PipelineError> {
    let (last, others) = stages.split_last().ok_or(PipelineError::NoStage)?;
    let mut whole = last.clone();
    for (at, first) in others.iter().enumerate().rev() {
        one_port(at + 1, first.writes(), "writes to")?;
        one_port(at + 2, whole.reads(), "reads from")?;
        whole = ControlType::of_machine(both(first.machine(), whole.machine())?);
    }
    Ok(whole)
}

/// Where two stages are, and what the next one has decided: so one of them has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Node {
    first: usize,
    next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Next {
    /// It is here, and may decide.
    Decides(usize),
    /// It is here, and waits for a value.
    Waits(usize),
    /// It takes nothing any more.
    Gone,
}

/// What comes of a node.
enum Does {
    /// Something that is seen.
    Seen(Event, Node),
    /// Something that is not.
    Unseen(Node),
    /// Nothing, for ever.
    Nothing,
}

fn both(first: &Machine, next: &Machine) -> Result<Machine, TooLarge> {
    let work = Work::new();
    let start = BTreeSet::from([Node { first: 0, next: Next::Decides(0) }]);
    let machine = explore(start, &work, |set: &BTreeSet<Node>| {
        let mut edges: BTreeMap<Event, BTreeSet<Node>> = BTreeMap::new();
        let mut offers: BTreeSet<Offer> = BTreeSet::new();
        let (mut waiting, mut seen): (Vec<Node>, BTreeSet<Node>) =
            (set.iter().copied().collect(), set.clone());
        while let Some(node) = waiting.pop() {
            let all = node.does(first, next);
            // Each is an event with a name of its own.
            work.spend(8 * (1 + all.len()))?;
            for does in all {
                match does {
                    Does::Seen(event, to) => {
                        edges.entry(event.clone()).or_default().insert(to);
                        offers.insert(Offer::from([event]));
                    }
                    Does::Unseen(to) => {
                        if seen.insert(to) {
                            waiting.push(to);
                        }
                    }
                    Does::Nothing => drop(offers.insert(Offer::new())),
                }
            }
        }
        Ok((edges, smallest(offers, &work)?))
    })?;
    machine.minimal(&work)
}

/// What a stage may decide to do at a place: each event that is offered there, `None` for its end.
fn decisions(machine: &Machine, at: usize) -> impl Iterator<Item = Option<(&Event, usize)>> {
    let place = &machine.places[at];
    let events = place.edges.iter().map(|(event, to)| Some((event, *to)));
    events.chain(place.ends().then_some(None))
}

impl Node {
    fn does(self, first: &Machine, next: &Machine) -> Vec<Does> {
        let Node { first: at, next: other } = self;
        let with = |next| Node { first: at, next };
        if let Next::Decides(place) = other {
            let decided = |decision: Option<(&Event, usize)>| match decision {
                None => Does::Unseen(with(Next::Gone)),
                Some((Event::Read(_), _)) => Does::Unseen(with(Next::Waits(place))),
                Some((event, to)) => Does::Seen(event.clone(), with(Next::Decides(to))),
            };
            return decisions(next, place).map(decided).collect();
        }
        let decided = |decision: Option<(&Event, usize)>| match (decision, other) {
            (None, _) | (Some((Event::Write(_), _)), Next::Gone) => vec![Does::Nothing],
            (Some((Event::Write(_), to)), Next::Waits(place)) => {
                // It may read from any of its ports; there is one.
                let edges = next.places[place].edges.iter();
                let reads = edges.filter(|edge| matches!(edge.0, Event::Read(_)));
                let meet = |(_, read): (&Event, &usize)| {
                    Does::Unseen(Node { first: to, next: Next::Decides(*read) })
                };
                reads.map(meet).collect()
            }
            (Some((event, to)), _) => {
                vec![Does::Seen(event.clone(), Node { first: to, next: other })]
            }
        };
        decisions(first, at).flat_map(decided).collect()
    }
}
