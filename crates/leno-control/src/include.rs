//! Whether all that one type allows is allowed by another, and what is not.

use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::fmt;

use crate::control_type::ControlType;
use crate::event::{Event, Trace};

/// Something that one type allows and another does not: the shortest such trace.
#[derive(Clone, PartialEq, Eq)]
pub struct Excess {
    smaller: String,
    larger: String,
    trace: Trace,
    ends: bool,
    allowed: Vec<Event>,
}

impl Excess {
    /// The trace; its last event is the one that is too much, unless [`Excess::is_end`].
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Whether the trace itself may happen in both, but only one of them may end after it.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.ends
    }

    /// What the other type would have allowed instead.
    #[must_use]
    pub fn allowed(&self) -> &[Event] {
        &self.allowed
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { smaller, larger, trace, .. } = self;
        match self.ends {
            true => write!(f, "`{smaller}` may end after {trace}, `{larger}` may not")?,
            false => write!(f, "`{smaller}` allows {trace}, `{larger}` does not")?,
        }
        match self.allowed.as_slice() {
            [] => f.write_str("; nothing can happen there"),
            allowed => write!(f, "; it allows {} there", listed(allowed)),
        }
    }
}

impl Error for Excess {}

crate::error::debug_as_told!(Excess);

/// Events as a list: `R, W or S`.
pub(crate) fn listed<T: fmt::Display>(items: &[T]) -> String {
    match items {
        [] => "nothing".to_owned(),
        [only] => only.to_string(),
        [some @ .., last] => {
            let some: Vec<_> = some.iter().map(T::to_string).collect();
            format!("{} or {last}", some.join(", "))
        }
    }
}

/// The shortest thing that `smaller` allows and `larger` does not; of an end and an event after the same
/// trace, the end.
pub(crate) fn excess(smaller: &ControlType, larger: &ControlType) -> Option<Excess> {
    let mut seen = HashSet::from([(0, 0)]);
    let mut waiting = VecDeque::from([(0, 0, Trace::default())]);
    while let Some((small, large, trace)) = waiting.pop_front() {
        let small = &smaller.automaton().states()[small];
        let large = &larger.automaton().states()[large];
        let excess = |trace, ends| Excess {
            smaller: smaller.to_string(),
            larger: larger.to_string(),
            trace,
            ends,
            allowed: large.edges().iter().map(|edge| edge.0.clone()).collect(),
        };
        if small.ends() && !large.ends() {
            return Some(excess(trace, true));
        }
        for (event, next) in small.edges() {
            let mut longer = trace.clone();
            longer.0.push(event.clone());
            let Some(other) = large.after(event) else {
                return Some(excess(longer, false));
            };
            if seen.insert((*next, other)) {
                waiting.push_back((*next, other, longer));
            }
        }
    }
    None
}
