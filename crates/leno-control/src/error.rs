//! What can be wrong with a text or a name, and where.
//!
//! Deliberately not here: that two types do not agree ([`crate::Excess`], [`crate::Misfit`]), and
//! that a fibre does what its type forbids ([`crate::Violation`]).

use std::error::Error;
use std::fmt;

use crate::expr::Expr;

/// A text that is no control type: where, what was expected there, and what was found.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError {
    pub(crate) text: String,
    pub(crate) column: usize,
    pub(crate) expected: &'static str,
    pub(crate) found: String,
}

impl ParseError {
    /// Where in the text, counted in characters from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// What could have stood there.
    #[must_use]
    pub fn expected(&self) -> &str {
        self.expected
    }

    /// The text on one line and a mark below the place on the next.
    #[must_use]
    pub fn picture(&self) -> String {
        let line = self.text.replace(char::is_whitespace, " ");
        format!("{line}\n{:>width$}", "^", width = self.column)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, column, expected, found } = self;
        write!(f, "expected {expected} at column {column} of `{text}`, found {found}")
    }
}

impl Error for ParseError {}

/// A name that no port can have.
#[derive(Clone, PartialEq, Eq)]
pub struct PortError {
    pub(crate) name: String,
    pub(crate) wrong: char,
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no port can be called `{}`: names are of lower-case letters, digits and `_`, not {:?}",
            self.name, self.wrong
        )
    }
}

impl Error for PortError {}

/// A type that has too many states to be worked out, is written with too many events, or takes too much
/// work.
///
/// The limits keep a mistake in a description, or a text from outside, from using up memory and time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TooLarge(Limit);

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    States,
    Events,
    Steps,
    Levels,
}

impl TooLarge {
    /// How many states an automaton may have while it is worked out.
    pub const MOST_STATES: usize = 20_000;

    /// How many events (and references to rules) an expression may be written with.
    pub const MOST_EVENTS: usize = 2_000;

    /// How many steps of work a type, or a comparison of types, may take. A step is about one insertion
    /// into a set.
    pub const MOST_STEPS: usize = 8_000_000;

    /// How many levels an expression may be deep. A sequence, alternatives and a sign are a level each.
    pub const MOST_LEVELS: usize = 320;

    /// The expression, if it is not too deep.
    pub(crate) fn if_deep(expr: Expr) -> Result<Expr, Self> {
        if expr.depth() <= Self::MOST_LEVELS {
            return Ok(expr);
        }
        Err(Self(Limit::Levels))
    }

    pub(crate) fn of_states() -> Self {
        Self(Limit::States)
    }

    pub(crate) fn of_events() -> Self {
        Self(Limit::Events)
    }

    pub(crate) fn of_steps() -> Self {
        Self(Limit::Steps)
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Limit::States => {
                write!(f, "a type of more than {} states is not worked out", Self::MOST_STATES)
            }
            Limit::Events => {
                let most = Self::MOST_EVENTS;
                write!(f, "a type written with more than {most} events is not worked out")
            }
            Limit::Steps => {
                let most = Self::MOST_STEPS;
                write!(f, "a type that takes more than {most} steps of work is not worked out")
            }
            Limit::Levels => {
                let most = Self::MOST_LEVELS;
                write!(f, "an expression of more than {most} levels is not worked out")
            }
        }
    }
}

impl Error for TooLarge {}

/// `Debug` as `Display`, since it is what `unwrap` and a `main` that returns errors print. The same is in
/// `leno-context` for the crates that stand on it; this one stands on none.
macro_rules! debug_as_told {
    ($($error:ident),+) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}
pub(crate) use debug_as_told;

debug_as_told!(ParseError, PortError, TooLarge);
