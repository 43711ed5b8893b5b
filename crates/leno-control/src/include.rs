//! Whether all that one type allows is allowed by another, and what is not.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;

use crate::control_type::ControlType;
use crate::error::TooLarge;
use crate::event::{Event, Trace};
use crate::work::Work;

/// Something that one type allows and another does not: the shortest such trace.
#[derive(Clone, PartialEq, Eq)]
pub struct Excess {
    smaller: String,
    larger: String,
    trace: Trace,
    ends: bool,
    allowed: Vec<Event>,
    too_large: Option<TooLarge>,
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

    /// Why it was not worked out whether one type is included in the other; then there is no trace.
    #[must_use]
    pub fn too_large(&self) -> Option<TooLarge> {
        self.too_large
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
        if let Some(error) = self.too_large {
            return write!(
                f,
                "whether `{smaller}` is included in `{larger}` is not known: {error}"
            );
        }
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
    let none = Excess {
        smaller: String::new(),
        larger: String::new(),
        trace: Trace::default(),
        ends: false,
        allowed: Vec::new(),
        too_large: None,
    };
    let excess = match shortest(smaller, larger) {
        Ok(None) => return None,
        Ok(Some((trace, ends, allowed))) => Excess { trace, ends, allowed, ..none },
        Err(error) => Excess { too_large: Some(error), ..none },
    };
    Some(Excess { smaller: smaller.to_string(), larger: larger.to_string(), ..excess })
}

/// A pair of states, with the index of the pair before it and the event that led here.
type Reached<'a> = ((usize, usize), Option<(usize, &'a Event)>);

/// Its trace, whether it is an end, and what is allowed instead.
type Found = Option<(Trace, bool, Vec<Event>)>;

fn shortest(smaller: &ControlType, larger: &ControlType) -> Result<Found, TooLarge> {
    let work = Work::new();
    // Pairs of states in the order in which they are reached, each with the pair and the event before it:
    // traces themselves would be long, and as many as pairs.
    let mut pairs: Vec<Reached<'_>> = vec![((0, 0), None)];
    let mut seen = HashSet::from([(0, 0)]);
    let mut at = 0;
    while at < pairs.len() {
        let (small, large) = pairs[at].0;
        let small = &smaller.automaton().states()[small];
        let large = &larger.automaton().states()[large];
        let found = |last: Option<&Event>| {
            let mut trace: Vec<Event> = last.into_iter().cloned().collect();
            let mut back = at;
            while let Some((before, event)) = pairs[back].1 {
                trace.push(event.clone());
                back = before;
            }
            trace.reverse();
            let allowed = large.edges().iter().map(|edge| edge.0.clone()).collect();
            Ok(Some((Trace(trace), last.is_none(), allowed)))
        };
        if small.ends() && !large.ends() {
            return found(None);
        }
        work.spend(small.edges().len() + large.edges().len())?;
        // Both are in the order of events.
        let mut others = large.edges().iter().peekable();
        let mut new = Vec::new();
        for (event, next) in small.edges() {
            while others.next_if(|other| other.0 < *event).is_some() {}
            let Some((_, other)) = others.next_if(|other| other.0 == *event) else {
                return found(Some(event));
            };
            if seen.insert((*next, *other)) {
                work.spend(4)?;
                new.push(((*next, *other), Some((at, event))));
            }
        }
        pairs.extend(new);
        at += 1;
    }
    Ok(None)
}
