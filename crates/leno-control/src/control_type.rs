//! A control type: what is written, and what it allows.

use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use crate::automaton::Automaton;
use crate::compose::{Named, Wire, product};
use crate::error::{ParseError, TooLarge};
use crate::event::{Event, Port};
use crate::expr::Expr;
use crate::grammar::{Grammar, GrammarError, write_rules};
use crate::include::{Excess, excess};
use crate::machine::Machine;
use crate::positions::Positions;
use crate::work::Work;
use crate::{parse, simplify};

/// Which events a fibre may show, in which order, and where it may end by itself.
///
/// Written as a regular expression: `R` is a read, `W` a write, `S` a spawn, each perhaps with the name of a
/// port (`R1`, `Wwords`); `+` repeats, and at the end of a type for ever; `*`, `?` and `|` are as usual.
///
/// Two types are equal if they allow the same, however they are written; `<=` is inclusion.
///
/// ```
/// use leno_control::ControlType;
///
/// let function: ControlType = "(RW)+".parse()?;
/// let partial: ControlType = "((R+)W)+".parse()?;
/// assert!(function < partial);
/// assert_eq!(partial, "R(R|WR)+".parse()?);
/// # Ok::<(), leno_control::TypeError>(())
/// ```
///
/// Cloning one is cheap.
#[derive(Clone)]
pub struct ControlType(Arc<Known>);

/// All that is known about a type.
struct Known {
    /// Of what was computed it is worked out when someone asks.
    written: OnceLock<Written>,
    machine: Machine,
    automaton: Automaton,
}

/// How a type is written.
enum Written {
    Expr(Expr),
    /// As the text of a grammar, in which each state is a rule, since an expression would be too long.
    Rules(String),
}

impl ControlType {
    /// The type that an expression describes.
    ///
    /// # Errors
    ///
    /// If it refers to a rule, which needs a [`Grammar`], or is too large, too deep or takes too much work.
    pub fn new(expr: Expr) -> Result<Self, TypeError> {
        let expr = TooLarge::if_deep(expr)?;
        let mut rule = None;
        expr.each(&mut |part| {
            if let Expr::Rule(name) = part {
                rule.get_or_insert(name);
            }
        });
        if let Some(name) = rule {
            return Err(TypeError::Rule(name.clone()));
        }
        let written = Written::Expr(expr.normal());
        let Written::Expr(expr) = &written else { unreachable!("it was just made") };
        let work = Work::new();
        let machine = Machine::of_positions(&Positions::new(expr, true, &work)?, &work)?;
        Ok(Self::known(written.into(), machine))
    }

    fn known(written: OnceLock<Written>, machine: Machine) -> Self {
        let automaton = Automaton::of_machine(&machine);
        Self(Arc::new(Known { written, machine, automaton }))
    }

    /// The type of what was computed; its expression is the simplest one that was found.
    pub(crate) fn of_machine(machine: Machine) -> Self {
        Self::known(OnceLock::new(), machine)
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.0.machine
    }

    fn written(&self) -> &Written {
        self.0.written.get_or_init(|| match simplify::expr(&self.0.automaton, &Work::new()) {
            Some(expr) => Written::Expr(expr),
            None => {
                let mut text = String::new();
                let written = write_rules(&simplify::rules(&self.0.automaton), &mut text);
                written.expect("a text has room");
                Written::Rules(text)
            }
        })
    }

    /// The type as a tree. There is none if it was computed and has no expression of reasonable length; it is
    /// then printed as a grammar with a rule for each state.
    #[must_use]
    pub fn expr(&self) -> Option<&Expr> {
        match self.written() {
            Written::Expr(expr) => Some(expr),
            Written::Rules(_) => None,
        }
    }

    /// The minimal automaton.
    #[must_use]
    pub fn automaton(&self) -> &Automaton {
        &self.0.automaton
    }

    /// The same type, written as simply as leno can.
    #[must_use]
    pub fn simplified(&self) -> Self {
        Self::of_machine(self.0.machine.clone())
    }

    /// All events that may ever happen, each once, in order.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.0.machine.events().into_iter().collect()
    }

    /// The ports it reads from.
    #[must_use]
    pub fn reads(&self) -> Vec<Port> {
        let read = |event| if let Event::Read(port) = event { Some(port) } else { None };
        self.events().into_iter().filter_map(read).collect()
    }

    /// The ports it writes to.
    #[must_use]
    pub fn writes(&self) -> Vec<Port> {
        let write = |event| if let Event::Write(port) = event { Some(port) } else { None };
        self.events().into_iter().filter_map(write).collect()
    }

    /// Whether the number of events is bounded, and the fibre then ends by itself: `W`, `R`, `RW`.
    #[must_use]
    pub fn is_one_shot(&self) -> bool {
        let leaves = self.automaton().states().iter().filter(|state| state.edges().is_empty());
        !self.automaton().is_endless() && leaves.into_iter().all(|state| state.ends())
    }

    /// Whether the fibre never ends by itself, but by starvation or blockage alone: `W+`, `R+`, `(RW)+`.
    #[must_use]
    pub fn is_continuous(&self) -> bool {
        !self.automaton().states().iter().any(|state| state.ends())
    }

    /// The same type with other names for ports: `name` is asked about each.
    ///
    /// # Panics
    ///
    /// If a new name is one that [`Port::new`] refuses.
    ///
    /// # Errors
    ///
    /// If several ports become one, and there are then too many states.
    pub fn renamed(&self, name: impl Fn(&str) -> String) -> Result<Self, TooLarge> {
        let change = |event: &Event| match event {
            Event::Read(port) => Event::read(&name(port.name())),
            Event::Write(port) => Event::write(&name(port.name())),
            Event::Spawn => Event::Spawn,
        };
        let machine = self.0.machine.renamed(&change, &Work::new())?;
        Ok(match self.expr() {
            Some(expr) => Self::known(Written::Expr(expr.map(&change)).into(), machine),
            None => Self::of_machine(machine),
        })
    }

    /// Whether all that this type allows is allowed by `other`.
    ///
    /// # Errors
    ///
    /// If not, the shortest trace that only this one allows. If that takes too much work, an
    /// [`Excess::too_large`], which says nothing about either.
    pub fn included_in(&self, other: &Self) -> Result<(), Excess> {
        excess(self, other).map_or(Ok(()), Err)
    }
}

/// What fibres of these types show together, if the ports that `wires` names are joined.
///
/// Where one writes and another reads at the two ends of a wire, both do so in one step that nobody
/// outside sees. What is not on a wire stays visible. The result is the principal type: it has
/// exactly the traces that some schedule shows.
///
/// ```
/// use leno_control::{ControlType, Wire, compose};
///
/// let client: ControlType = "(Rjob Wask Ranswer Wdone)+".parse()?;
/// let server: ControlType = "(Rask Wanswer)+".parse()?;
/// let both = compose(&[&client, &server], &[Wire::new("ask", "ask"), Wire::new("answer", "answer")])?;
/// assert_eq!(both.to_string(), "(Rjob Wdone)+");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there are too many states.
pub fn compose(parts: &[&ControlType], wires: &[Wire]) -> Result<ControlType, TooLarge> {
    let machines: Vec<&Machine> = parts.iter().map(|part| part.machine()).collect();
    product(&machines, &Named(wires)).map(ControlType::of_machine)
}

/// Why there is no such type.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeError {
    /// The text is none.
    Parse(ParseError),
    /// It was written as a grammar, which is none or not regular.
    Grammar(GrammarError),
    /// The expression refers to this rule, and a type of its own has no rules.
    Rule(String),
    /// It has too many states, or takes too much work.
    TooLarge(TooLarge),
}

impl From<ParseError> for TypeError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}

impl From<TooLarge> for TypeError {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(f),
            Self::Grammar(error) => error.fmt(f),
            Self::Rule(name) => write!(f, "rule <{name}> is not defined: rules need a grammar"),
            Self::TooLarge(error) => error.fmt(f),
        }
    }
}

impl Error for TypeError {}

crate::error::debug_as_told!(TypeError);

impl FromStr for ControlType {
    type Err = TypeError;

    /// Reads an expression, or a [`Grammar`] if the text begins with `<`.
    fn from_str(text: &str) -> Result<Self, TypeError> {
        if text.trim_start().starts_with('<') {
            let grammar: Grammar = text.parse().map_err(TypeError::Grammar)?;
            return grammar.control_type().map_err(TypeError::Grammar);
        }
        Self::new(parse::expr(text)?)
    }
}

impl fmt::Display for ControlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written() {
            Written::Expr(expr) => expr.fmt(f),
            Written::Rules(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for ControlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControlType({self})")
    }
}

impl PartialEq for ControlType {
    fn eq(&self, other: &Self) -> bool {
        self.automaton() == other.automaton()
    }
}

impl Eq for ControlType {}

impl PartialOrd for ControlType {
    /// Less is included in. Types whose comparison takes too much work are not ordered.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.included_in(other).is_ok(), other.included_in(self).is_ok()) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}
