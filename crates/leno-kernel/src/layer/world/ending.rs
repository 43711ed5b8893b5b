//! How a world has ended.

use core::any::Any;
use core::fmt;

use crate::log::Log;

/// How a world has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ending {
    /// What has gone wrong first, if anything.
    pub trouble: Option<Trouble>,
    /// What has happened until then, in order.
    pub log: Log,
    /// How many points there were.
    pub points: u64,
}

/// What can go wrong in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// A thread or coroutine has panicked, and nobody asked how it ended.
    Panicked {
        /// Who.
        who: String,
        /// With what.
        what: String,
    },
    /// Nobody can ever run again, but some threads have not ended: who, and what they wait for.
    Deadlock(String),
    /// It did not end within so many points.
    Endless {
        /// How many.
        points: u64,
    },
    /// Something was left behind.
    Leak(String),
    /// Something happened that no driver decides.
    NotControlled(String),
    /// A rule of the driver was broken.
    Broken(String),
    /// The driver has seen enough of this run.
    Cut,
}

impl Trouble {
    /// Whether it is of the same kind as another: what it says may differ.
    pub fn is_like(&self, other: &Trouble) -> bool {
        match (self, other) {
            (Trouble::Panicked { what: own, .. }, Trouble::Panicked { what: other, .. }) => {
                without_numbers(own) == without_numbers(other)
            }
            _ => core::mem::discriminant(self) == core::mem::discriminant(other),
        }
    }
}

/// Objects have other numbers in each run.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Panicked { who, what } => write!(f, "{who} panicked: {what}"),
            Trouble::Deadlock(report) => {
                write!(f, "deadlock: nobody can ever run again; {report}")
            }
            Trouble::Endless { points } => {
                write!(f, "livelock: it did not end within {points} operations")
            }
            Trouble::Leak(what) => write!(f, "leak: {what}"),
            Trouble::NotControlled(what) => write!(f, "not controlled: {what}"),
            Trouble::Broken(what) => f.write_str(what),
            Trouble::Cut => f.write_str("cut short"),
        }
    }
}

/// What a panic says.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(not a text)").to_owned()
}
