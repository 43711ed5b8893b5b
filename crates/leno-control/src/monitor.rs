//! Holding a running fibre against its type.
//!
//! A monitor is told each event before it happens and answers whether the type allows it. It knows where in
//! the text of the type the fibre stands, so that a wrong event can be explained. For a control type a step
//! is one look into a table that monitors of the same type share (`table.rs`); for a grammar it is more
//! (`stacks.rs`).
//!
//! Invariant: a step that is refused changes nothing.
//!
//! Deliberately not here: stopping the fibre. Starvation and blockage need no step: they are allowed
//! anywhere.

mod stacks;
mod table;
mod violation;

use std::collections::BTreeSet;
use std::sync::Arc;

use stacks::Stacks;
use violation::Details;

pub use violation::Violation;

use crate::control_type::ControlType;
use crate::event::{Event, is_port_character};
use crate::expr::Expr;
use crate::grammar::Grammar;

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
    about: Arc<About>,
    stand: Stand,
    steps: u64,
}

/// An event by its number in a type: faster than to look it up for each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Letter(usize);

/// What does not change while a fibre runs.
#[derive(Debug)]
struct About {
    text: String,
    /// In order.
    letters: Vec<Event>,
}

/// Where the fibre stands.
#[derive(Clone, Debug)]
enum Stand {
    Table(table::Spot),
    Stacks(Box<Stacks>),
}

impl Monitor {
    /// A monitor for a fibre that has not done anything yet. Clone it for more fibres of the type.
    #[must_use]
    pub fn new(control: &ControlType) -> Self {
        let about = About { text: control.to_string(), letters: control.events() };
        let stand = Stand::Table(table::Spot::new(control, &about.text, &about.letters));
        Self { about: Arc::new(about), stand, steps: 0 }
    }

    /// A monitor for a fibre whose type is a grammar.
    ///
    /// If the grammar is regular, a monitor of its [control type](Grammar::control_type) is faster.
    #[must_use]
    pub fn of_grammar(grammar: &Grammar) -> Self {
        let mut letters = BTreeSet::new();
        for (_, expr) in grammar.rules() {
            expr.each(&mut |part| {
                if let Expr::Event(event) = part {
                    letters.insert(event.clone());
                }
            });
        }
        let about = About { text: grammar.to_string(), letters: letters.into_iter().collect() };
        let stand = Stand::Stacks(Box::new(Stacks::new(grammar)));
        Self { about: Arc::new(about), stand, steps: 0 }
    }

    /// The number of an event in this type, if it occurs there at all.
    #[must_use]
    pub fn letter(&self, event: &Event) -> Option<Letter> {
        self.about.letters.binary_search(event).ok().map(Letter)
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
    #[inline]
    pub fn step_letter(&mut self, letter: Letter) -> Result<(), Violation> {
        let allowed = match &mut self.stand {
            Stand::Table(spot) => spot.step(letter.0),
            Stand::Stacks(stacks) => stacks.step(&self.about.letters[letter.0]),
        };
        if allowed {
            self.steps += 1;
            return Ok(());
        }
        Err(self.violation(Some(self.about.letters[letter.0].clone())))
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
        match &self.stand {
            Stand::Table(spot) => spot.may_end(),
            Stand::Stacks(stacks) => stacks.may_end(),
        }
    }

    /// What the fibre may do next.
    #[must_use]
    pub fn allowed(&self) -> Vec<Event> {
        self.options().into_iter().map(|option| option.0).collect()
    }

    /// How many events have happened.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The type, with `.` where the fibre stands: `(R.W)+`. Several if the type leaves open where that is.
    #[must_use]
    pub fn place(&self) -> String {
        let behind = self.behind();
        let mut text = String::new();
        if self.steps == 0 {
            text.push('.');
        }
        let mut chars = (1..).zip(self.about.text.chars()).peekable();
        while let Some((column, c)) = chars.next() {
            text.push(c);
            if behind.contains(&column) {
                while let Some((_, c)) = chars.next_if(|at| is_port_character(at.1)) {
                    text.push(c);
                }
                text.push('.');
            }
        }
        text
    }

    /// The columns of the events that may have been the last.
    fn behind(&self) -> Vec<usize> {
        match &self.stand {
            Stand::Table(spot) => spot.behind(),
            Stand::Stacks(stacks) => stacks.behind(),
        }
    }

    /// What is allowed, each with the columns where it stands.
    fn options(&self) -> Vec<(Event, Vec<usize>)> {
        match &self.stand {
            Stand::Table(spot) => {
                let event = |letter: usize| self.about.letters[letter].clone();
                spot.allowed().into_iter().map(|(letter, at)| (event(letter), at)).collect()
            }
            Stand::Stacks(stacks) => {
                stacks.allowed().into_iter().map(|(event, at)| (event.clone(), at)).collect()
            }
        }
    }

    #[cold]
    fn violation(&self, event: Option<Event>) -> Violation {
        Violation(Box::new(Details {
            control: self.about.text.clone(),
            event,
            steps: self.steps,
            place: self.place(),
            behind: self.behind(),
            allowed: self.options(),
            may_end: self.may_end(),
        }))
    }
}
