//! The minimal automaton of a control type, for everyone to look at.
//!
//! Its words are the traces that a fibre of this type may show. They are prefix closed: a fibre may be
//! left starving or blocked anywhere, so every state is accepting, and only *how it may end* needs a
//! mark. A state has this mark if a fibre that stands there may end by itself (suicide), or, for fibres
//! that were composed, if nothing more may happen there.
//!
//! Invariant: minimal, and numbered in the order in which states are first reached; so two types are
//! equal if and only if their automata are.

use std::collections::VecDeque;
use std::fmt;

use crate::event::{Event, Trace};
use crate::machine::Machine;

/// One state: what may happen, and whether this may be the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) edges: Vec<(Event, usize)>,
    pub(crate) ends: bool,
}

impl State {
    /// What may happen, in the order of events, and which state comes then.
    #[must_use]
    pub fn edges(&self) -> &[(Event, usize)] {
        &self.edges
    }

    /// Whether this may be the end.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// The state after `event`, if it may happen.
    #[must_use]
    pub fn after(&self, event: &Event) -> Option<usize> {
        self.edges.iter().find(|edge| edge.0 == *event).map(|edge| edge.1)
    }
}

/// The minimal deterministic automaton of a type. State 0 is where it starts.
///
/// Printed as its transitions, one state after the other:
///
/// ```
/// use leno_control::ControlType;
///
/// let shot: ControlType = "RW".parse()?;
/// assert_eq!(shot.automaton().to_string(), "0-R->1; 1-W->2; 2 end");
/// # Ok::<(), leno_control::TypeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Automaton {
    states: Vec<State>,
}

impl Automaton {
    pub(crate) fn of_machine(machine: &Machine) -> Self {
        let minimal = machine.minimal_by_ends();
        let state = |place: crate::machine::Place| State {
            ends: place.ends(),
            edges: place.edges.into_iter().collect(),
        };
        Self { states: minimal.places.into_iter().map(state).collect() }
    }

    /// The states; the first is where it starts.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The state after a trace, or how many of its events may happen.
    ///
    /// # Errors
    ///
    /// If the trace cannot happen: the place in it of the first event that is not allowed.
    pub fn run(&self, trace: &[Event]) -> Result<usize, usize> {
        let mut state = 0;
        for (at, event) in trace.iter().enumerate() {
            state = self.states[state].after(event).ok_or(at)?;
        }
        Ok(state)
    }

    /// Whether a fibre may show these events and, perhaps, more.
    #[must_use]
    pub fn allows(&self, trace: &[Event]) -> bool {
        self.run(trace).is_ok()
    }

    /// Whether some run has no last event.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        // Sorting topologically: what is left over has a circle.
        let mut arriving = vec![0_usize; self.states.len()];
        let targets = |state: &State| state.edges.iter().map(|edge| edge.1).collect::<Vec<_>>();
        self.states.iter().flat_map(targets).for_each(|to| arriving[to] += 1);
        let mut free: VecDeque<_> = (0..arriving.len()).filter(|&at| arriving[at] == 0).collect();
        let mut sorted = 0;
        while let Some(at) = free.pop_front() {
            sorted += 1;
            for to in targets(&self.states[at]) {
                arriving[to] -= 1;
                if arriving[to] == 0 {
                    free.push_back(to);
                }
            }
        }
        sorted < self.states.len()
    }

    /// All traces of at most `most` events, the shortest first.
    #[must_use]
    pub fn traces(&self, most: usize) -> Vec<Trace> {
        let mut all = vec![(Trace::default(), 0)];
        let mut from = 0;
        for _ in 0..most {
            let to = all.len();
            if from == to {
                // There are no longer ones.
                break;
            }
            for at in from..to {
                let (trace, state) = all[at].clone();
                for (event, next) in &self.states[state].edges {
                    let mut longer = trace.clone();
                    longer.0.push(event.clone());
                    all.push((longer, *next));
                }
            }
            from = to;
        }
        all.into_iter().map(|found| found.0).collect()
    }
}

impl fmt::Display for Automaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (at, state) in self.states.iter().enumerate() {
            for (event, to) in &state.edges {
                write!(f, "{between}{at}-{event}->{to}")?;
                between = ", ";
            }
            if state.ends {
                write!(f, "{between}{at} end")?;
            } else if state.edges.is_empty() {
                write!(f, "{between}{at} busy")?;
            }
            between = "; ";
        }
        Ok(())
    }
}
