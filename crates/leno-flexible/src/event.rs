//! What an observer is told.

use core::fmt;
use std::sync::Arc;

use crate::table::Table;
use crate::{Party, Refusal, Rule, Snapshot};

/// Is told what happens, as it happens.
pub(crate) type Observer = dyn FnMut(&Event<'_>) + Send;

/// Something has happened in a system: a rule was applied, or an operation was refused.
pub struct Event<'a> {
    /// Who did it; of 4.16 whom it was done to, of 4.17 and 4.18 whose request it was.
    pub by: Party,
    /// What it was.
    pub what: What,
    /// Whom it was done to, if to another one: the one named, not the bottom of its chain.
    pub on: Option<Arc<str>>,
    pub(crate) table: &'a Table,
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

impl Event<'_> {
    /// The system as it is now, right after it.
    pub fn snapshot(&self) -> Snapshot {
        self.table.snapshot()
    }
}

impl fmt::Display for Event<'_> {
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

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({self})")
    }
}
