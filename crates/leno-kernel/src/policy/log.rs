//! What was decided, short enough to paste.
//!
//! A log as text is a token of letters, digits and dots that no shell minds:
//! ```text
//!   log       "-" if nothing was decided, or entries one after the other
//!   entry     kind  among how many  [ "." which one, from 0 ]  [ "X" how often in a row ]
//!   kind      P pick   W waiter   A alternative   T timer   V victim   R runs on   N network
//!   numbers   in base 36, small letters; without "." it is the first, without "X" once
//! ```
//! In memory too, equal decisions in a row are one entry.

use core::fmt;
use core::str::FromStr;

use super::ChoiceKind;

/// What kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Decided {
    /// Who runs next, among those that were ready, in the order in which they became so.
    Pick,
    /// Another choice, among its candidates.
    Choose(ChoiceKind),
}

impl Decided {
    const ALL: [(Decided, char, &'static str); 8] = [
        (Decided::Pick, 'P', "pick"),
        (Decided::Choose(ChoiceKind::Waiter), 'W', "choice of a waiter"),
        (Decided::Choose(ChoiceKind::Alternative), 'A', "choice of an alternative"),
        (Decided::Choose(ChoiceKind::Timer), 'T', "choice of a timer"),
        (Decided::Choose(ChoiceKind::Victim), 'V', "choice of a victim"),
        (Decided::Choose(ChoiceKind::After), 'R', "choice of who runs on"),
        (Decided::Choose(ChoiceKind::Network), 'N', "choice of a network"),
        (Decided::Choose(ChoiceKind::Slice), 'S', "choice of a slice's end"),
    ];

    /// Its place in the table. A new kind has to be added there, too.
    fn number(self) -> usize {
        match self {
            Decided::Pick => 0,
            Decided::Choose(ChoiceKind::Waiter) => 1,
            Decided::Choose(ChoiceKind::Alternative) => 2,
            Decided::Choose(ChoiceKind::Timer) => 3,
            Decided::Choose(ChoiceKind::Victim) => 4,
            Decided::Choose(ChoiceKind::After) => 5,
            Decided::Choose(ChoiceKind::Network) => 6,
            Decided::Choose(ChoiceKind::Slice) => 7,
        }
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Decided::ALL[self.number()].2)
    }
}

/// One decision: which of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    kind: Decided,
    of: u32,
    took: u32,
}

impl Decision {
    /// Number `took`, from 0, was taken among `of`.
    ///
    /// # Panics
    /// If there is no such one, or no other.
    pub fn new(kind: Decided, of: usize, took: usize) -> Decision {
        assert!(of > 1 && took < of, "{took} among {of} is no decision");
        let number = |n| u32::try_from(n).expect("there are never so many candidates");
        Decision { kind, of: number(of), took: number(took) }
    }

    /// What kind.
    pub fn kind(self) -> Decided {
        self.kind
    }

    /// Among how many; at least two.
    pub fn of(self) -> usize {
        self.of as usize
    }

    /// Which one, from 0.
    pub fn took(self) -> usize {
        self.took as usize
    }
}

/// Decisions in the order in which they were made.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{ChoiceLog, Decided, Decision};
///
/// let pick = |of, took| Decision::new(Decided::Pick, of, took);
/// let log: ChoiceLog = [pick(3, 1), pick(2, 0), pick(2, 0)].into_iter().collect();
/// assert_eq!(log.to_string(), "P3.1P2X2");
/// assert_eq!("P3.1P2X2".parse(), Ok(log));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChoiceLog {
    /// How often in a row; no two neighbours are equal.
    runs: Vec<(Decision, u64)>,
    len: u64,
}

impl ChoiceLog {
    /// Nothing decided.
    pub fn new() -> ChoiceLog {
        ChoiceLog::default()
    }

    /// How many decisions.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was decided.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One more.
    pub fn push(&mut self, decision: Decision) {
        self.push_run(decision, 1);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Decision> + '_ {
        let mut cursor = Cursor::default();
        core::iter::from_fn(move || cursor.next(self))
    }

    fn push_run(&mut self, decision: Decision, times: u64) {
        self.len = self.len.checked_add(times).expect("a log holds fewer than 2⁶⁴ decisions");
        match self.runs.last_mut() {
            Some((last, run)) if *last == decision => *run += times,
            _ => self.runs.push((decision, times)),
        }
    }
}

/// A place in a log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    run: usize,
    done: u64,
}

impl Cursor {
    /// The decision at the cursor, which goes on to the one after.
    pub(super) fn next(&mut self, log: &ChoiceLog) -> Option<Decision> {
        let &(decision, times) = log.runs.get(self.run)?;
        self.done += 1;
        if self.done == times {
            *self = Cursor { run: self.run + 1, done: 0 };
        }
        Some(decision)
    }
}

/// The decisions of a [`ChoiceLog`], one by one: it takes no more room than the log, however often one is repeated.
#[derive(Clone, Debug)]
pub struct Decisions {
    log: ChoiceLog,
    cursor: Cursor,
}

impl Iterator for Decisions {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        self.cursor.next(&self.log)
    }
}

impl IntoIterator for ChoiceLog {
    type Item = Decision;
    type IntoIter = Decisions;

    fn into_iter(self) -> Decisions {
        Decisions { log: self, cursor: Cursor::default() }
    }
}

impl FromIterator<Decision> for ChoiceLog {
    fn from_iter<I: IntoIterator<Item = Decision>>(decisions: I) -> Self {
        let mut log = ChoiceLog::new();
        log.extend(decisions);
        log
    }
}

impl Extend<Decision> for ChoiceLog {
    fn extend<I: IntoIterator<Item = Decision>>(&mut self, decisions: I) {
        decisions.into_iter().for_each(|decision| self.push(decision));
    }
}

impl fmt::Display for ChoiceLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("-");
        }
        for &(decision, times) in &self.runs {
            let (_, letter, _) = Decided::ALL[decision.kind.number()];
            write!(f, "{letter}{}", Base36(decision.of.into()))?;
            if decision.took > 0 {
                write!(f, ".{}", Base36(decision.took.into()))?;
            }
            if times > 1 {
                write!(f, "X{}", Base36(times))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ChoiceLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChoiceLog({self})")
    }
}

struct Base36(u64);

impl fmt::Display for Base36 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 36 {
            write!(f, "{}", Base36(self.0 / 36))?;
        }
        let digit = char::from_digit((self.0 % 36) as u32, 36).expect("less than 36");
        write!(f, "{digit}")
    }
}

/// A text that is no log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotALog {
    at: usize,
    expected: &'static str,
}

impl fmt::Display for NotALog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a choice log: {} expected at byte {}", self.expected, self.at)
    }
}

impl core::error::Error for NotALog {}

impl FromStr for ChoiceLog {
    type Err = NotALog;

    fn from_str(text: &str) -> Result<ChoiceLog, NotALog> {
        let mut log = ChoiceLog::new();
        let mut reader = Reader { text, rest: text };
        if text == "-" {
            return Ok(log);
        }
        loop {
            let kind = Decided::ALL.into_iter().find(|&(_, letter, _)| reader.skip(letter));
            let Some((kind, ..)) = kind else { return Err(reader.expected("a kind of decision")) };
            let among = "a number of two or more candidates";
            let of = reader.number(among, |of| of > 1 && of <= u32::MAX.into())?;
            let took = if reader.skip('.') {
                reader.number("the number of a candidate", |took| took < of)?
            } else {
                0
            };
            let times = if reader.skip('X') {
                reader.number("how often in a row", |times| times > 0)?
            } else {
                1
            };
            if log.len.checked_add(times).is_none() {
                return Err(reader.expected("an end before 2⁶⁴ decisions"));
            }
            log.push_run(Decision { kind, of: of as u32, took: took as u32 }, times);
            if reader.rest.is_empty() {
                return Ok(log);
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn number(&mut self, what: &'static str, fits: impl Fn(u64) -> bool) -> Result<u64, NotALog> {
        let is_digit = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
        let end = self.rest.find(|c| !is_digit(c)).unwrap_or(self.rest.len());
        let number = u64::from_str_radix(&self.rest[..end], 36).ok().filter(|&n| fits(n));
        let number = number.ok_or_else(|| self.expected(what))?;
        self.rest = &self.rest[end..];
        Ok(number)
    }

    fn expected(&self, expected: &'static str) -> NotALog {
        NotALog { at: self.text.len() - self.rest.len(), expected }
    }
}

#[cfg(test)]
mod tests;
