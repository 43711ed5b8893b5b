//! What an observer is told.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Party, Refusal, Rule, Snapshot};

type Call = dyn FnMut(&Event, Option<&Snapshot>) + Send;

/// Is told what happens, in that order.
pub(crate) struct Observer {
    pub(crate) call: Box<Call>,
    pub(crate) wants_snapshots: bool,
}

/// What an observer is to be told, each with the state after it if it wants that.
pub(crate) type Events = VecDeque<(Event, Option<Snapshot>)>;

/// Something has happened in a system: a rule was applied, or an operation was refused.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Who did it; of 4.16 whom it was done to, of 4.17 and 4.18 whose request it was.
    pub by: Party,
    /// What it was.
    pub what: What,
    /// Whom it was done to, if to another one: the one named, not the bottom of its chain.
    pub on: Option<Arc<str>>,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A rule was applied.
    Applied(Rule),
    /// No rule allows it; nothing has changed.
    Refused(Refusal),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Applied(rule) => write!(f, "{rule} by {}", self.by)?,
            What::Refused(refusal) => write!(f, "refused to {}: {refusal}", self.by)?,
        }
        match &self.on {
            Some(on) => write!(f, " on '{on}'"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({self})")
    }
}
