//! From text to tree.
//!
//! ```text
//! type   = branch { "|" branch }
//! branch = item { item }
//! item   = atom { "+" | "*" | "?" }
//! atom   = event | "(" type ")" | "(" ")" | "<" name ">"
//! event  = ( "R" | "W" ) port | "S"
//! port   = { lower-case letter | digit | "_" }
//! ```
//!
//! Spaces and line ends may stand between any two of these. Nesting is bounded, and nothing here recurses, so that a
//! text from outside cannot use up a stack, also that of a coroutine.

use crate::error::ParseError;
use crate::event::{Event, Port, is_port_character};
use crate::expr::Expr;

/// How deep parentheses and postfix signs may nest.
const DEEPEST: usize = 100;

const ITEM: &str = "an event (`R`, `W` or `S`) or `(`";
const ITEM_OR_RULE: &str = "an event (`R`, `W` or `S`), `(` or `<`";
const MORE: &str = "an event, `(`, `+`, `*`, `?`, `|` or the end";
const INSIDE: &str = "an event, `(`, `+`, `*`, `?`, `|` or `)`";

/// A text with the place that is read next.
pub(crate) struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    /// Whether `<name>` may occur.
    pub(crate) rules: bool,
}

/// Reads a whole text as one type.
pub(crate) fn expr(text: &str) -> Result<Expr, ParseError> {
    let mut reader = Reader::new(text);
    let expr = reader.either()?;
    match reader.peek() {
        None => Ok(expr),
        Some(_) => Err(reader.expected(MORE)),
    }
}

/// Reads a whole text as one event.
pub(crate) fn event(text: &str) -> Result<Event, ParseError> {
    let mut reader = Reader::new(text);
    let event = reader.event().ok_or_else(|| reader.expected("an event (`R`, `W` or `S`)"))?;
    match reader.peek() {
        None => Ok(event),
        Some(_) => Err(reader.expected("the end")),
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, rest: text, rules: false }
    }

    /// The next character that is no space.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Takes the next character if it is this one.
    pub(crate) fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        there
    }

    /// What is wrong here.
    pub(crate) fn expected(&mut self, expected: &'static str) -> ParseError {
        let found = match self.peek() {
            Some(c) => format!("`{c}`"),
            None => "the end".to_owned(),
        };
        let before = &self.text[..self.text.len() - self.rest.len()];
        let column = before.chars().count() + 1;
        ParseError { text: self.text.to_owned(), column, expected, found }
    }

    /// Letters, digits and `_`, perhaps none.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c| !is_port_character(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// `<name>`, of which `<` is next.
    pub(crate) fn rule(&mut self) -> Result<String, ParseError> {
        self.take('<');
        self.peek();
        let name = self.word();
        if name.is_empty() {
            return Err(self.expected("the name of a rule, in lower-case letters, digits and `_`"));
        }
        if self.take('>') { Ok(name.to_owned()) } else { Err(self.expected("`>`")) }
    }

    fn event(&mut self) -> Option<Event> {
        let letter = self.peek().filter(|letter| matches!(letter, 'R' | 'W' | 'S'))?;
        self.take(letter);
        if letter == 'S' {
            return Some(Event::Spawn);
        }
        let port = Port::new(self.word()).expect("made of the characters a port may have");
        Some(if letter == 'R' { Event::Read(port) } else { Event::Write(port) })
    }

    /// Reads a type, up to where none can go on.
    pub(crate) fn either(&mut self) -> Result<Expr, ParseError> {
        let mut levels = Levels(vec![Level::default()]);
        loop {
            let Some(mut atom) = self.atom(levels.0.len() - 1)? else {
                levels.0.push(Level::default());
                continue;
            };
            // After an atom: its signs, and then the next item or the end of its level.
            loop {
                let depth = levels.0.len() - 1;
                let level = levels.0.last_mut().expect("the outermost is there until the end");
                level.items.push(atom);
                self.signs(&mut level.items, depth)?;
                if let Some('R' | 'W' | 'S' | '(' | '<') = self.peek() {
                    break;
                }
                level.end_branch();
                if self.take('|') {
                    break;
                }
                atom = Expr::Either(std::mem::take(&mut level.branches)).joined();
                levels.0.pop();
                if levels.0.is_empty() {
                    return Ok(atom);
                }
                if !self.take(')') {
                    return Err(self.expected(INSIDE));
                }
            }
        }
    }

    /// Reads the signs of the last of these.
    fn signs(&mut self, items: &mut Vec<Expr>, depth: usize) -> Result<(), ParseError> {
        let mut signs = 0;
        while let Some(sign @ ('+' | '*' | '?')) = self.peek() {
            signs += 1;
            if signs + depth > DEEPEST {
                return Err(self.expected("no more than 100 levels"));
            }
            self.take(sign);
            let inner = Box::new(items.pop().unwrap_or(Expr::Nothing));
            items.push(match sign {
                '+' => Expr::Plus(inner),
                '*' => Expr::Star(inner),
                _ => Expr::Maybe(inner),
            });
        }
        Ok(())
    }

    /// Reads an event, a rule or `()`; or `(`, and then there is none yet.
    fn atom(&mut self, depth: usize) -> Result<Option<Expr>, ParseError> {
        if let Some(event) = self.event() {
            return Ok(Some(Expr::Event(event)));
        }
        if self.rules && self.peek() == Some('<') {
            return self.rule().map(|name| Some(Expr::Rule(name)));
        }
        if self.peek() != Some('(') {
            return Err(self.expected(if self.rules { ITEM_OR_RULE } else { ITEM }));
        }
        if depth == DEEPEST {
            return Err(self.expected("no more than 100 levels"));
        }
        self.take('(');
        Ok(self.take(')').then_some(Expr::Nothing))
    }
}

/// What was read of a type in parentheses, or of the whole.
#[derive(Default)]
struct Level {
    branches: Vec<Expr>,
    /// Of the branch that is read.
    items: Vec<Expr>,
}

impl Level {
    fn end_branch(&mut self) {
        let items = std::mem::take(&mut self.items);
        self.branches.push(Expr::Seq(items).joined());
    }
}

/// The levels that are open, the outermost first.
struct Levels(Vec<Level>);
