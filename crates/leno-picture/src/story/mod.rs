//! A log, told by coroutine: who did what from when to when, and what went from one to another.
//!
//! Invariants: the spans of a row do not overlap and are in order; a span begins at a moment and ends
//! at a later one, or not at all; moments are the events of the log, in its order.
//!
//! # Values
//! The log does not say which value went where. Channels are first in, first out, so the nth send on
//! an object belongs to the nth receive. That holds only if the log has all of them: with events
//! lost, or with more receives than sends (then someone sends who is not in the log), no value is
//! drawn rather than a wrong one.

mod read;
mod values;

use leno_kernel::log::{Log, What};
use leno_kernel::{Co, Reason};

use crate::Names;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) rows: Vec<Row>,
    pub(crate) moments: Vec<Moment>,
    pub(crate) spans: Vec<Span>,
    pub(crate) arrows: Vec<Arrow>,
    /// How many older events the log has not kept.
    pub(crate) lost: u64,
}

/// A coroutine.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// As reports call it.
    pub(crate) co: Co,
    /// Where it was spawned, if the log says so.
    pub(crate) site: Option<String>,
    /// Which moment made it.
    pub(crate) spawned: Option<usize>,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Moment {
    /// Nanoseconds of the system's clock.
    pub(crate) at: u64,
    /// From 0.
    pub(crate) core: u32,
    /// The row of who did it.
    pub(crate) by: Option<usize>,
    /// The row of whom it was done to.
    pub(crate) to: Option<usize>,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// What sort of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A coroutine begins to do something else.
    Turn,
    Spawn,
    Wake,
    End,
    Begin,
    Does,
    Fail,
    Choice,
    Mark,
}

/// What a coroutine did for a while.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) row: usize,
    pub(crate) doing: Doing,
    pub(crate) text: String,
    pub(crate) from: usize,
    /// `None` if it still does.
    pub(crate) to: Option<usize>,
}

/// What a coroutine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    New,
    Ready,
    Runs,
    Receives,
    Sends,
    Selects,
    Locks,
    Joins,
    Calls,
    Sleeps,
    Waits,
}

/// Something that goes from one coroutine to another.
#[derive(Debug)]
pub(crate) struct Arrow {
    pub(crate) carries: Carries,
    /// Row and moment.
    pub(crate) from: (usize, usize),
    pub(crate) to: (usize, usize),
    pub(crate) text: String,
}

/// What an arrow stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    WakeUp,
    Value,
    Spawn,
    Call,
}

impl Doing {
    fn of(reason: Reason) -> Doing {
        match reason {
            Reason::Hungry(_) | Reason::Expecting(_) => Doing::Receives,
            Reason::Blocked(_) => Doing::Sends,
            Reason::Choosing(_) => Doing::Selects,
            Reason::Lock(_) => Doing::Locks,
            Reason::Joining(_) | Reason::JoiningOutside(_) | Reason::Children => Doing::Joins,
            Reason::Sleeping => Doing::Sleeps,
            _ => Doing::Waits,
        }
    }
}

impl Kind {
    fn of(what: &What) -> Kind {
        match what {
            What::Spawned { .. } => Kind::Spawn,
            What::Woke { .. } => Kind::Wake,
            What::Ended(_) => Kind::End,
            What::Begins(..) => Kind::Begin,
            What::Does(..) => Kind::Does,
            What::Fails(..) => Kind::Fail,
            What::Chose { .. } => Kind::Choice,
            What::Marked(_) => Kind::Mark,
            _ => Kind::Turn,
        }
    }
}

impl Story {
    /// Reads a log.
    pub(crate) fn new(log: &Log, names: &Names) -> Story {
        let mut story = read::read(log, names);
        if log.lost() == 0 {
            let values = values::pairs(log, &story);
            story.arrows.extend(values);
        }
        story
    }
}

#[cfg(test)]
mod tests;
