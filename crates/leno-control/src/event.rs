//! What a fibre does that others can see: it reads, it writes, it spawns.
//!
//! Entry to and return from a read are one event here, and so with a write: a control type is about
//! one fibre alone (Skaller 2017). That a fibre ends is no event but a property of where it stands;
//! see [`crate::Automaton`].
//!
//! Deliberately not here: values, and which channel a port is wired to.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{ParseError, PortError};

/// Where a fibre reads or writes: a name, or none if there is one port only.
///
/// Names are made of lower-case letters, digits and `_`, so that they can follow `R` and `W`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(Option<Arc<str>>);

impl Port {
    /// The port without a name, as in `RW`.
    pub const UNNAMED: Port = Port(None);

    /// The port of that name; the empty name is [`Port::UNNAMED`].
    ///
    /// # Errors
    ///
    /// If the name has other characters than lower-case letters, digits and `_`.
    pub fn new(name: &str) -> Result<Self, PortError> {
        match name.chars().find(|&c| !is_port_character(c)) {
            Some(wrong) => Err(PortError { name: name.to_owned(), wrong }),
            None if name.is_empty() => Ok(Self::UNNAMED),
            None => Ok(Self(Some(name.into()))),
        }
    }

    /// The name, which is empty if the port has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }
}

/// What may stand in the name of a port.
pub(crate) fn is_port_character(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Port({})", self.name())
    }
}

/// One event of a fibre. Reads come before writes in every listing, writes before spawns.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// It reads at a port: `R`, `R1`, `Rlines`.
    Read(Port),
    /// It writes at a port: `W`, `W2`, `Wwords`.
    Write(Port),
    /// It spawns a fibre: `S`.
    Spawn,
}

impl Event {
    /// A read at the port of that name; `""` is the port without a name.
    ///
    /// # Panics
    ///
    /// If [`Port::new`] refuses the name.
    #[must_use]
    pub fn read(port: &str) -> Self {
        Self::Read(Port::new(port).unwrap_or_else(|error| panic!("{error}")))
    }

    /// A write at the port of that name; `""` is the port without a name.
    ///
    /// # Panics
    ///
    /// If [`Port::new`] refuses the name.
    #[must_use]
    pub fn write(port: &str) -> Self {
        Self::Write(Port::new(port).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Where it reads or writes.
    #[must_use]
    pub fn port(&self) -> Option<&Port> {
        match self {
            Self::Read(port) | Self::Write(port) => Some(port),
            Self::Spawn => None,
        }
    }

    /// In words: `read`, `write to out`, `spawn`.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Read(Port::UNNAMED) => "read".to_owned(),
            Self::Write(Port::UNNAMED) => "write".to_owned(),
            Self::Read(port) => format!("read from {port}"),
            Self::Write(port) => format!("write to {port}"),
            Self::Spawn => "spawn".to_owned(),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(port) => write!(f, "R{port}"),
            Self::Write(port) => write!(f, "W{port}"),
            Self::Spawn => f.write_str("S"),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Event {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        crate::parse::event(text)
    }
}

/// Events in the order in which they happen. Printed one after the other: `R R W`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trace(pub Vec<Event>);

impl Trace {
    /// The events, the earliest first.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.0
    }
}

impl FromIterator<Event> for Trace {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self(events.into_iter().collect())
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (at, event) in self.0.iter().enumerate() {
            write!(f, "{}{event}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}
