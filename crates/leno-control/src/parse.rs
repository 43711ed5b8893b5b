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
//! Spaces and line ends may stand between any two of these. Nesting is bounded, so that a text from
//! outside cannot use up a thread's stack.

use crate::error::ParseError;
use crate::event::{Event, Port, is_port_character};
use crate::expr::Expr;

/// How deep parentheses and postfix signs may nest.
pub(crate) const DEEPEST: usize = 100;

const ITEM: &str = "an event (`R`, `W` or `S`) or `(`";
const ITEM_OR_RULE: &str = "an event (`R`, `W` or `S`), `(` or `<`";
const MORE: &str = "an event, `(`, `+`, `*`, `?`, `|` or the end";
const INSIDE: &str = "an event, `(`, `+`, `*`, `?`, `|` or `)`";

/// A text with the place that is read next.
pub(crate) struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
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
        Self { text, rest: text, depth: 0, rules: false }
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

    pub(crate) fn either(&mut self) -> Result<Expr, ParseError> {
        let mut branches = vec![self.branch()?];
        while self.take('|') {
            branches.push(self.branch()?);
        }
        Ok(Expr::Either(branches).joined())
    }

    fn branch(&mut self) -> Result<Expr, ParseError> {
        let mut items = vec![self.item()?];
        while let Some('R' | 'W' | 'S' | '(' | '<') = self.peek() {
            items.push(self.item()?);
        }
        Ok(Expr::Seq(items).joined())
    }

    fn item(&mut self) -> Result<Expr, ParseError> {
        let mut item = self.atom()?;
        let mut signs = 0;
        while let Some(sign @ ('+' | '*' | '?')) = self.peek() {
            signs += 1;
            if signs + self.depth > DEEPEST {
                return Err(self.expected("no more than 100 levels"));
            }
            self.take(sign);
            let inner = Box::new(item);
            item = match sign {
                '+' => Expr::Plus(inner),
                '*' => Expr::Star(inner),
                _ => Expr::Maybe(inner),
            };
        }
        Ok(item)
    }

    fn atom(&mut self) -> Result<Expr, ParseError> {
        if let Some(event) = self.event() {
            return Ok(Expr::Event(event));
        }
        if self.rules && self.peek() == Some('<') {
            return self.rule().map(Expr::Rule);
        }
        if self.peek() != Some('(') {
            return Err(self.expected(if self.rules { ITEM_OR_RULE } else { ITEM }));
        }
        if self.depth == DEEPEST {
            return Err(self.expected("no more than 100 levels"));
        }
        self.take('(');
        if self.take(')') {
            return Ok(Expr::Nothing);
        }
        self.depth += 1;
        let inner = self.either()?;
        self.depth -= 1;
        if self.take(')') { Ok(inner) } else { Err(self.expected(INSIDE)) }
    }
}
