//! A grammar's rules as positions.
//!
//! Each rule is there twice: as it reads where nothing comes after it, and as it reads elsewhere. Only there
//! does `X+` at its end ever stop.

use std::collections::BTreeMap;

use crate::error::TooLarge;
use crate::event::Event;
use crate::expr::Expr;
use crate::positions::{Leaf, Positions};
use crate::work::Work;

/// All rules of a grammar, each twice.
#[derive(Debug)]
pub(crate) struct Compiled {
    routines: Vec<Routine>,
}

/// A rule in one of its two readings.
#[derive(Debug)]
struct Routine {
    positions: Positions,
    /// What is called at each position from 1 on.
    calls: Vec<Option<usize>>,
    /// The columns of the grammar's text where the positions from 1 on are.
    columns: Vec<usize>,
}

/// A place in a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct At {
    pub(crate) routine: usize,
    pub(crate) position: usize,
}

/// What may come next at a place.
pub(crate) enum Next<'a> {
    Event(&'a Event),
    /// A call of this routine; if it is the last thing its caller does, nobody needs to come back.
    Call {
        routine: usize,
        last: bool,
    },
}

impl Compiled {
    /// # Errors
    ///
    /// If a rule is too large, or all together take too much work.
    pub(crate) fn new(rules: &[(String, Expr)]) -> Result<Self, TooLarge> {
        let mut routines = Vec::new();
        let names: BTreeMap<&str, usize> =
            rules.iter().enumerate().map(|(number, rule)| (rule.0.as_str(), number)).collect();
        let mut column = 1;
        // For all rules together.
        let work = Work::new();
        for (name, expr) in rules {
            // The text of a rule is `<name> = ` and its expression; two spaces and a sign come after it.
            let text = expr.to_string();
            let start = column + name.chars().count() + 5;
            let leaf = |c: char| c.is_ascii_uppercase() || c == '<';
            let columns: Vec<usize> =
                (start..).zip(text.chars()).filter(|at| leaf(at.1)).map(|at| at.0).collect();
            column = start + text.chars().count() + 2;
            for at_end in [false, true] {
                let positions = Positions::new(expr, at_end, &work)?;
                let call = |position| match positions.leaf(position) {
                    Leaf::Event(_) => None,
                    Leaf::Rule { name, at_end } => {
                        names.get(name.as_str()).map(|&rule| number(rule, *at_end))
                    }
                };
                let calls = (1..=columns.len()).map(call).collect();
                routines.push(Routine { positions, calls, columns: columns.clone() });
            }
        }
        Ok(Self { routines })
    }

    /// Where everything starts.
    pub(crate) fn start(&self) -> At {
        At { routine: number(0, true), position: 0 }
    }

    /// Which rule a routine is a reading of.
    pub(crate) fn rule(&self, routine: usize) -> usize {
        routine / 2
    }

    /// What may come next, each with the place where one is then (or will be back).
    pub(crate) fn next(&self, at: At) -> impl Iterator<Item = (Next<'_>, At)> {
        let Routine { positions, calls, .. } = &self.routines[at.routine];
        positions.follow(at.position).iter().map(move |&position| {
            let next = match (positions.leaf(position), calls[position - 1]) {
                (Leaf::Event(event), _) => Next::Event(event),
                (Leaf::Rule { .. }, routine) => Next::Call {
                    routine: routine.expect("a grammar has all rules it refers to"),
                    last: positions.follow(position).is_empty() && positions.is_complete(position),
                },
            };
            (next, At { routine: at.routine, position })
        })
    }

    /// All calls in a routine.
    pub(crate) fn calls(&self, routine: usize) -> impl Iterator<Item = (usize, bool)> {
        let count = self.routines[routine].calls.len();
        let next = (0..=count).flat_map(move |position| self.next(At { routine, position }));
        next.filter_map(|(next, _)| match next {
            Next::Call { routine, last } => Some((routine, last)),
            Next::Event(_) => None,
        })
    }

    /// Whether the routine may be done here.
    pub(crate) fn is_complete(&self, at: At) -> bool {
        self.routines[at.routine].positions.is_complete(at.position)
    }

    /// The column of what has just happened, if anything has.
    pub(crate) fn column(&self, at: At) -> Option<usize> {
        let columns = &self.routines[at.routine].columns;
        at.position.checked_sub(1).map(|before| columns[before])
    }
}

fn number(rule: usize, at_end: bool) -> usize {
    2 * rule + usize::from(at_end)
}
