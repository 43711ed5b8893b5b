//! Where a fibre stands in a regular type: a row of a table, one for each way to stand in the text.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::automaton::State;
use crate::control_type::ControlType;
use crate::event::Event;
use crate::machine::{Offer, Place, explore};
use crate::positions::{Leaf, Positions};
use crate::work::Work;

/// No row: the event is not allowed.
const NONE: u32 = u32::MAX;

/// A place in a table.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    table: Arc<Table>,
    row: usize,
}

/// What monitors of one type share.
#[derive(Debug)]
struct Table {
    letters: usize,
    /// The row that comes next, by row and letter.
    next: Vec<u32>,
    rows: Vec<Row>,
}

/// What is known about a row.
#[derive(Debug)]
struct Row {
    ends: bool,
    /// The columns of the events that may have been the last.
    behind: Vec<usize>,
    /// The columns of the events that may be next, each with its letter.
    before: Vec<(usize, usize)>,
}

impl Spot {
    /// Before the first event of a type, whose events are `letters`.
    pub(crate) fn new(control: &ControlType, text: &str, letters: &[Event]) -> Self {
        // Each event of the text begins with a capital letter, and nothing else has one.
        let capitals = (1..).zip(text.chars()).filter(|at| at.1.is_ascii_uppercase());
        let columns: Vec<usize> = capitals.map(|at| at.0).collect();
        let work = Work::new();
        let positions = control.expr().and_then(|expr| Positions::new(expr, true, &work).ok());
        let table =
            positions.and_then(|positions| Table::new(&positions, letters, &columns, &work));
        Self { table: Arc::new(table.unwrap_or_else(|| Table::plain(control, letters))), row: 0 }
    }

    /// Goes on by a letter, if that is allowed.
    #[inline]
    pub(crate) fn step(&mut self, letter: usize) -> bool {
        assert!(letter < self.table.letters, "this letter belongs to another control type");
        let next = self.table.next[self.row * self.table.letters + letter];
        if next == NONE {
            return false;
        }
        self.row = next as usize;
        true
    }

    pub(crate) fn may_end(&self) -> bool {
        self.table.rows[self.row].ends
    }

    /// The letters that are allowed, each with the columns where it stands.
    pub(crate) fn allowed(&self) -> BTreeMap<usize, Vec<usize>> {
        let from = self.row * self.table.letters;
        let next = &self.table.next[from..from + self.table.letters];
        let letters = next.iter().enumerate().filter(|at| *at.1 != NONE).map(|at| at.0);
        let before = &self.table.rows[self.row].before;
        let columns = |letter| before.iter().filter(move |at| at.1 == letter).map(|at| at.0);
        letters.map(|letter| (letter, columns(letter).collect())).collect()
    }

    /// The columns of the events that may have been the last.
    pub(crate) fn behind(&self) -> Vec<usize> {
        self.table.rows[self.row].behind.clone()
    }
}

impl Table {
    /// A row for each set of positions where a fibre may stand, if that is not too much work.
    fn new(
        positions: &Positions,
        letters: &[Event],
        columns: &[usize],
        work: &Work,
    ) -> Option<Self> {
        let sets = RefCell::new(Vec::new());
        let machine = explore(BTreeSet::from([0]), work, |set: &BTreeSet<usize>| {
            sets.borrow_mut().push(set.clone());
            let complete = set.iter().any(|&at| positions.is_complete(at));
            Ok((positions.after(set, work)?, complete.then(Offer::new).into_iter().collect()))
        });
        let letter = |position| match positions.leaf(position) {
            Leaf::Event(event) => letters.binary_search(event).ok(),
            Leaf::Rule { .. } => None,
        };
        let row = |(set, place): (BTreeSet<usize>, &Place)| {
            let follow: BTreeSet<usize> =
                set.iter().flat_map(|&at| positions.follow(at)).copied().collect();
            let before = follow.into_iter().filter_map(|at| Some((columns[at - 1], letter(at)?)));
            Row {
                ends: place.ends(),
                behind: set.iter().filter(|&&at| at > 0).map(|&at| columns[at - 1]).collect(),
                before: before.collect(),
            }
        };
        let places = machine.ok()?.places;
        work.spend_product(places.len(), letters.len()).ok()?;
        Some(Self {
            letters: letters.len(),
            next: flat(places.iter().map(|place| place.edges.iter()), letters),
            rows: sets.into_inner().into_iter().zip(&places).map(row).collect(),
        })
    }

    /// A row for each state of the minimal automaton: all but the columns.
    fn plain(control: &ControlType, letters: &[Event]) -> Self {
        let states = control.automaton().states();
        let row =
            |state: &State| Row { ends: state.ends(), behind: Vec::new(), before: Vec::new() };
        Self {
            letters: letters.len(),
            next: flat(
                states.iter().map(|state| state.edges().iter().map(|edge| (&edge.0, &edge.1))),
                letters,
            ),
            rows: states.iter().map(row).collect(),
        }
    }
}

/// The next row for each row and letter, of the edges of each row.
fn flat<'a, E>(rows: impl Iterator<Item = E>, letters: &[Event]) -> Vec<u32>
where
    E: Iterator<Item = (&'a Event, &'a usize)>,
{
    let mut next = Vec::new();
    for row in rows {
        let from = next.len();
        next.resize(from + letters.len(), NONE);
        for (event, &to) in row {
            if let Ok(letter) = letters.binary_search(event) {
                next[from + letter] = u32::try_from(to).expect("automata have fewer states");
            }
        }
    }
    next
}
