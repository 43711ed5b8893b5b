//! That a fibre does what its type forbids: what it may do instead, and where in the type it stands.

use std::error::Error;
use std::fmt;

use crate::event::{Event, is_port_character};
use crate::include::listed;

/// A fibre is about to do what its type does not allow.
#[derive(Clone, PartialEq, Eq)]
pub struct Violation(pub(crate) Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Details {
    /// The type as text.
    pub(crate) control: String,
    /// What was wrong; none is an end.
    pub(crate) event: Option<Event>,
    pub(crate) steps: u64,
    /// The type with `.` where the fibre stood.
    pub(crate) place: String,
    /// The columns of what may have been the last event.
    pub(crate) behind: Vec<usize>,
    /// What is allowed, with the columns where it stands.
    pub(crate) allowed: Vec<(Event, Vec<usize>)>,
    pub(crate) may_end: bool,
}

impl Violation {
    /// What the fibre was about to do; none if it was about to end.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        self.0.event.as_ref()
    }

    /// What it may do instead.
    #[must_use]
    pub fn allowed(&self) -> Vec<&Event> {
        self.0.allowed.iter().map(|allowed| &allowed.0).collect()
    }

    /// Whether it may end instead.
    #[must_use]
    pub fn may_end(&self) -> bool {
        self.0.may_end
    }

    /// How many events had happened before.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.0.steps
    }

    /// The type, with `.` where the fibre stands; see [`Monitor::place`](crate::Monitor::place).
    #[must_use]
    pub fn place(&self) -> &str {
        &self.0.place
    }
}

/// `at column 2`, `at column 2 or 5`, or nothing if no column is known.
fn at_columns(columns: &[usize]) -> String {
    match columns {
        [] => String::new(),
        columns => format!(" at column {}", listed(columns)),
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { control, event, steps, behind, allowed, may_end, .. } = &*self.0;
        match event {
            Some(event) => write!(f, "`{control}` does not allow {event} as event {}", steps + 1)?,
            None => write!(f, "`{control}` does not allow to end after {steps} events")?,
        }
        match (steps, behind.as_slice()) {
            (0, _) => f.write_str(": at the beginning it allows ")?,
            (_, []) => f.write_str(": there it allows ")?,
            (_, columns) => write!(f, ": after {} it allows ", self.last(columns))?,
        }
        let mut options: Vec<String> =
            allowed.iter().map(|(event, at)| format!("{event}{}", at_columns(at))).collect();
        if *may_end {
            options.push("the end".to_owned());
        }
        f.write_str(&listed(&options))
    }
}

impl Violation {
    /// The last event, as the text has it in one of these columns.
    fn last(&self, columns: &[usize]) -> String {
        let name = |c: &char| is_port_character(*c);
        let mut rest = self.0.control.chars().skip(columns[0] - 1);
        let event: String = rest.next().into_iter().chain(rest.take_while(name)).collect();
        format!("{event}{}", at_columns(columns))
    }
}

impl Error for Violation {}

crate::error::debug_as_told!(Violation);
