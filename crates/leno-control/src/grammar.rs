//! Control types that no regular expression describes: rules that refer to one another.
//!
//! ```text
//! grammar = rule { ";" rule } [ ";" ]
//! rule    = "<" name ">" "=" type
//! ```
//!
//! where `<name>` may stand for an event anywhere in a type. The first rule is the type of the fibre. A
//! grammar in which rules refer back only at their ends is regular: it *is* a control type, and can do
//! all that those can. Of others leno can print and parse the text and hold a fibre against it; whether
//! one includes another cannot be computed at all.
//!
//! `compiled.rs` works out positions for each rule, `regular.rs` finds the control type.

mod compiled;
mod regular;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub(crate) use compiled::{At, Compiled, Next};

use crate::control_type::ControlType;
use crate::error::{ParseError, TooLarge};
use crate::event::is_port_character;
use crate::expr::Expr;
use crate::parse::Reader;

/// Rules that describe what a fibre may do.
///
/// ```
/// use leno_control::{Event, Grammar, Monitor};
///
/// // As many writes as there were reads: a stack that is filled and then emptied.
/// let stack: Grammar = "<t> = R <t>? W".parse()?;
/// assert_eq!(stack.to_string(), "<t> = R <t>? W");
/// let mut monitor = Monitor::of_grammar(&stack);
/// for event in ["R", "R", "W", "W"] {
///     monitor.step(&event.parse()?)?;
/// }
/// assert!(monitor.may_end() && monitor.step(&Event::write("")).is_err());
///
/// let function: Grammar = "<t> = RW <t>".parse()?;
/// assert_eq!(function.control_type()?.to_string(), "(RW)+");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cloning one is cheap.
#[derive(Clone, Debug)]
pub struct Grammar {
    rules: Arc<Rules>,
    compiled: Arc<Compiled>,
}

/// Rules with their names.
#[derive(Debug, PartialEq)]
struct Rules(Vec<(String, Expr)>);

impl PartialEq for Grammar {
    /// Whether they are written alike; whether they mean the same cannot be computed.
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

impl Eq for Grammar {}

impl Grammar {
    /// The grammar of these rules, the first of which is where it starts.
    ///
    /// # Errors
    ///
    /// If there is no rule, two have the same name, a name is not made of lower-case letters, digits and `_`,
    /// or one refers to a rule that is not there, is written with too many events or is too deep.
    pub fn new(rules: Vec<(String, Expr)>) -> Result<Self, GrammarError> {
        Self::of(Rules(rules))
    }

    fn of(mut rules: Rules) -> Result<Self, GrammarError> {
        for (_, expr) in &mut rules.0 {
            *expr = TooLarge::if_deep(std::mem::replace(expr, Expr::Nothing))?;
        }
        let mut names = BTreeSet::new();
        if let Some((twice, _)) = rules.0.iter().find(|rule| !names.insert(rule.0.as_str())) {
            return Err(GrammarError::Twice(twice.clone()));
        }
        let unfit = |name: &&str| name.is_empty() || !name.chars().all(is_port_character);
        if let Some(name) = names.iter().find(|name| unfit(name)) {
            return Err(GrammarError::Name((*name).to_owned()));
        }
        let mut missing = None;
        for (_, expr) in &rules.0 {
            expr.each(&mut |part| match part {
                Expr::Rule(name) if !names.contains(name.as_str()) => {
                    missing.get_or_insert(name.clone());
                }
                _ => {}
            });
        }
        match missing {
            Some(name) => Err(GrammarError::Missing(name)),
            None if rules.0.is_empty() => Err(GrammarError::NoRule),
            None => {
                let normal = |(name, expr): (String, Expr)| (name, expr.normal());
                let rules = std::mem::take(&mut rules.0).into_iter().map(normal);
                let rules = Arc::new(Rules(rules.collect()));
                let compiled = Arc::new(Compiled::new(&rules.0)?);
                Ok(Self { rules, compiled })
            }
        }
    }

    /// The rules with their names, the first of which is where it starts.
    #[must_use]
    pub fn rules(&self) -> &[(String, Expr)] {
        &self.rules.0
    }

    pub(crate) fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// The control type that this grammar describes, if it is regular.
    ///
    /// # Errors
    ///
    /// If a rule refers, directly or through others, to itself and goes on after that; or if there are too
    /// many states.
    pub fn control_type(&self) -> Result<ControlType, GrammarError> {
        regular::machine(self).map(ControlType::of_machine)
    }
}

impl FromStr for Grammar {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let mut reader = Reader::new(text);
        reader.rules = true;
        let mut rules = Rules(Vec::new());
        loop {
            if reader.peek() != Some('<') {
                return Err(reader.expected("a rule, which begins with `<`").into());
            }
            let name = reader.rule()?;
            if !reader.take('=') {
                return Err(reader.expected("`=`").into());
            }
            rules.0.push((name, reader.either()?));
            let more = reader.take(';');
            match reader.peek() {
                None => return Self::of(rules),
                Some(_) if more => {}
                Some(_) => {
                    let expected = "an event, `(`, a rule, `+`, `*`, `?`, `|`, `;` or the end";
                    return Err(reader.expected(expected).into());
                }
            }
        }
    }
}

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_rules(&self.rules.0, f)
    }
}

/// Writes rules as the text of a grammar.
pub(crate) fn write_rules(rules: &[(String, Expr)], to: &mut impl fmt::Write) -> fmt::Result {
    for (at, (name, expr)) in rules.iter().enumerate() {
        write!(to, "{}<{name}> = {expr}", if at == 0 { "" } else { "; " })?;
    }
    Ok(())
}

/// Why there is no such grammar, or no control type of it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarError {
    /// The text is none.
    Parse(ParseError),
    /// There is no rule.
    NoRule,
    /// No rule can have this name.
    Name(String),
    /// Two rules have this name.
    Twice(String),
    /// There is no rule of this name.
    Missing(String),
    /// This rule refers back to itself before its end, so that no automaton of finitely many states will do.
    NotRegular(String),
    /// There are too many states, or it takes too much work.
    TooLarge(TooLarge),
}

impl From<ParseError> for GrammarError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}

impl From<TooLarge> for GrammarError {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(f),
            Self::NoRule => f.write_str("a grammar needs a rule"),
            Self::Name(name) => write!(
                f,
                "no rule can be called `{name}`: names are of lower-case letters, digits and `_`"
            ),
            Self::Twice(name) => write!(f, "two rules are called <{name}>"),
            Self::Missing(name) => write!(f, "there is no rule <{name}>"),
            Self::NotRegular(name) => {
                write!(f, "rule <{name}> comes back to itself before its end, so it is not regular")
            }
            Self::TooLarge(error) => error.fmt(f),
        }
    }
}

impl Error for GrammarError {}

crate::error::debug_as_told!(GrammarError);
