//! Holding a running fibre against its type.
//!
//! A monitor is told each event before it happens and answers whether the type allows it. It knows where in
//! the text of the type the fibre stands, so that a wrong event can be explained. A step is one look
//! into a table; monitors of the same type share it.
//!
//! Invariant: a step that is refused changes nothing.
//!
//! Deliberately not here: stopping the fibre. Starvation and blockage need no step: they are allowed
//! anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::control_type::ControlType;
use crate::event::Event;
use crate::include::listed;
use crate::machine::{Machine, Offer, explore};
use crate::positions::{Leaf, Positions};

/// Follows one fibre through its type.
///
/// ```
/// use leno_control::{ControlType, Event, Monitor};
///
/// let function: ControlType = "(RW)+".parse()?;
/// let mut monitor = Monitor::new(&function);
/// monitor.step(&Event::read(""))?;
/// let violation = monitor.step(&Event::read("")).unwrap_err();
/// assert_eq!(
///     violation.to_string(),
///     "`(RW)+` does not allow R as event 2: after R at column 2 it allows W at column 3"
/// );
/// assert!(monitor.step(&Event::write("")).is_ok(), "the refused event has not happened");
/// assert!(monitor.end().is_err(), "it ends by starvation or blockage only");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Monitor {
    plan: Arc<Plan>,
    row: usize,
    steps: u64,
}

/// An event by its number in a monitor's table: faster than to look it up for each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Letter(usize);

/// What monitors of one type share.
#[derive(Debug)]
struct Plan {
    text: String,
    letters: Vec<Event>,
    rows: Vec<Row>,
}

/// Where a fibre may stand.
#[derive(Debug)]
struct Row {
    /// By letter.
    next: Vec<Option<usize>>,
    ends: bool,
    /// The columns of the events that may have been the last.
    behind: Vec<usize>,
    /// The columns of the events that may be next, each with its letter.
    before: Vec<(usize, usize)>,
}

impl Monitor {
    /// A monitor for a fibre that has not done anything yet. Clone it for more fibres of the type.
    #[must_use]
    pub fn new(control: &ControlType) -> Self {
        Self { plan: Arc::new(Plan::new(control)), row: 0, steps: 0 }
    }

    /// The number of an event in this type, if it occurs there at all.
    #[must_use]
    pub fn letter(&self, event: &Event) -> Option<Letter> {
        self.plan.letters.binary_search(event).ok().map(Letter)
    }

    /// The fibre is about to do this.
    ///
    /// # Errors
    ///
    /// If its type does not allow it here. Nothing is changed then.
    pub fn step(&mut self, event: &Event) -> Result<(), Violation> {
        match self.letter(event) {
            Some(letter) => self.step_letter(letter),
            None => Err(self.violation(Some(event.clone()))),
        }
    }

    /// The fibre is about to do this, by the number of the event.
    ///
    /// # Errors
    ///
    /// If its type does not allow it here. Nothing is changed then.
    ///
    /// # Panics
    ///
    /// If the letter is of another type, and this type does not have as many.
    pub fn step_letter(&mut self, letter: Letter) -> Result<(), Violation> {
        match self.plan.rows[self.row].next[letter.0] {
            Some(row) => {
                self.row = row;
                self.steps += 1;
                Ok(())
            }
            None => Err(self.violation(Some(self.plan.letters[letter.0].clone()))),
        }
    }

    /// The fibre is about to end by itself.
    ///
    /// # Errors
    ///
    /// If its type does not allow it here.
    pub fn end(&self) -> Result<(), Violation> {
        if self.may_end() { Ok(()) } else { Err(self.violation(None)) }
    }

    /// Whether the fibre may end by itself here.
    #[must_use]
    pub fn may_end(&self) -> bool {
        self.plan.rows[self.row].ends
    }

    /// What the fibre may do next.
    #[must_use]
    pub fn allowed(&self) -> Vec<Event> {
        let next = self.plan.rows[self.row].next.iter().enumerate();
        next.filter(|(_, to)| to.is_some()).map(|(at, _)| self.plan.letters[at].clone()).collect()
    }

    /// How many events have happened.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The type, with `.` where the fibre stands: `(R.W)+`. Several if the type leaves open where that is.
    #[must_use]
    pub fn place(&self) -> String {
        let mut text = String::new();
        let row = &self.plan.rows[self.row];
        if self.steps == 0 {
            text.push('.');
        }
        let mut chars = self.plan.text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            text.push(c);
            if row.behind.contains(&(at + 1)) {
                while let Some((_, c)) = chars.next_if(|&(_, c)| crate::event::is_port_character(c))
                {
                    text.push(c);
                }
                text.push('.');
            }
        }
        text
    }

    fn violation(&self, event: Option<Event>) -> Violation {
        let row = &self.plan.rows[self.row];
        let columns = |letter| {
            row.before.iter().filter(move |before| before.1 == letter).map(|before| before.0)
        };
        let mut allowed = Vec::new();
        for (letter, to) in row.next.iter().enumerate() {
            if to.is_some() {
                allowed.push((self.plan.letters[letter].clone(), columns(letter).collect()));
            }
        }
        Violation(Box::new(Details {
            control: self.plan.text.clone(),
            event,
            steps: self.steps,
            place: self.place(),
            behind: row.behind.clone(),
            allowed,
            may_end: row.ends,
        }))
    }
}

impl Plan {
    fn new(control: &ControlType) -> Self {
        let text = control.to_string();
        let letters = control.events();
        let positions = Positions::new(control.expr(), true);
        // Each event of the text begins with a capital letter, and nothing else has one.
        let columns: Vec<usize> = (1..)
            .zip(text.chars())
            .filter(|(_, c)| c.is_ascii_uppercase())
            .map(|at| at.0)
            .collect();
        let rows = rows(&positions, &letters, &columns);
        Self { rows: rows.unwrap_or_else(|| without_columns(control, &letters)), text, letters }
    }
}

/// A row for each set of positions where a fibre may stand, if there are not too many.
fn rows(positions: &Positions, letters: &[Event], columns: &[usize]) -> Option<Vec<Row>> {
    let sets = std::cell::RefCell::new(Vec::new());
    let machine = explore(BTreeSet::from([0]), |set: &BTreeSet<usize>| {
        sets.borrow_mut().push(set.clone());
        let mut next: BTreeMap<Event, BTreeSet<usize>> = BTreeMap::new();
        for &to in set.iter().flat_map(|&from| positions.follow(from)) {
            if let Leaf::Event(event) = positions.leaf(to) {
                next.entry(event.clone()).or_default().insert(to);
            }
        }
        let complete = set.iter().any(|&at| positions.is_complete(at));
        Ok((next, complete.then(Offer::new).into_iter().collect()))
    });
    let machine: Machine = machine.ok()?;
    let row = |(set, place): (BTreeSet<usize>, &crate::machine::Place)| {
        let follow = set.iter().flat_map(|&at| positions.follow(at)).collect::<BTreeSet<_>>();
        let letter = |position| match positions.leaf(position) {
            Leaf::Event(event) => letters.binary_search(event).ok(),
            Leaf::Rule { .. } => None,
        };
        Row {
            next: letters.iter().map(|event| place.edges.get(event).copied()).collect(),
            ends: place.ends(),
            behind: set.iter().filter(|&&at| at > 0).map(|&at| columns[at - 1]).collect(),
            before: follow
                .into_iter()
                .filter_map(|&at| Some((columns[at - 1], letter(at)?)))
                .collect(),
        }
    };
    Some(sets.into_inner().into_iter().zip(&machine.places).map(row).collect())
}

/// A row for each state of the minimal automaton: all but the columns.
fn without_columns(control: &ControlType, letters: &[Event]) -> Vec<Row> {
    let states = control.automaton().states().iter();
    let row = |state: &crate::automaton::State| Row {
        next: letters.iter().map(|event| state.after(event)).collect(),
        ends: state.ends(),
        behind: Vec::new(),
        before: Vec::new(),
    };
    states.map(row).collect()
}

/// A fibre is about to do what its type does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    control: String,
    event: Option<Event>,
    steps: u64,
    place: String,
    behind: Vec<usize>,
    allowed: Vec<(Event, Vec<usize>)>,
    may_end: bool,
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

    /// The type, with `.` where the fibre stands; see [`Monitor::place`].
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
        let name = |c: &char| crate::event::is_port_character(*c);
        let mut rest = self.0.control.chars().skip(columns[0] - 1);
        let event: String = rest.next().into_iter().chain(rest.take_while(name)).collect();
        format!("{event}{}", at_columns(columns))
    }
}

impl Error for Violation {}
