//! What `std` asks of a tree, without recursion: users hold trees of any depth, and drop, compare, hash and print them
//! on stacks that are small.
//!
//! Each is what a derive would do: the same order, and the same text of `Debug`, `{:#?}` included.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::mem::{discriminant, take};

use super::Expr;

impl Drop for Expr {
    fn drop(&mut self) {
        // As deep as the compiler's own code goes in any case.
        if self.members().iter().all(|member| member.members().is_empty()) {
            return;
        }
        let mut rest = Vec::new();
        self.empty_into(&mut rest);
        while let Some(mut expr) = rest.pop() {
            expr.empty_into(&mut rest);
        }
    }
}

impl Expr {
    /// Moves its members to the end of `rest`; it is left with none, or a leaf.
    fn empty_into(&mut self, rest: &mut Vec<Expr>) {
        match self {
            Self::Seq(items) | Self::Either(items) => rest.append(items),
            Self::Plus(inner) | Self::Star(inner) | Self::Maybe(inner) => {
                rest.push(take(&mut **inner));
            }
            Self::Nothing | Self::Event(_) | Self::Rule(_) => {}
        }
    }

    /// The place of its kind among all.
    fn rank(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Event(_) => 1,
            Self::Rule(_) => 2,
            Self::Seq(_) => 3,
            Self::Either(_) => 4,
            Self::Plus(_) => 5,
            Self::Star(_) => 6,
            Self::Maybe(_) => 7,
        }
    }
}

impl Clone for Expr {
    fn clone(&self) -> Self {
        self.rebuilt(&Self::leaf, &|expr| expr)
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        let mut waiting = vec![(self, other)];
        while let Some((one, other)) = waiting.pop() {
            let is_alike = match (one, other) {
                (Self::Event(one), Self::Event(other)) => one == other,
                (Self::Rule(one), Self::Rule(other)) => one == other,
                _ => discriminant(one) == discriminant(other),
            };
            if !is_alike || one.members().len() != other.members().len() {
                return false;
            }
            // The first of them next: trees that differ do so there, as a rule.
            waiting.extend(one.members().iter().zip(other.members()).rev());
        }
        true
    }
}

impl Eq for Expr {}

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expr {
    fn cmp(&self, other: &Self) -> Ordering {
        /// What is still to be compared, the next at the end.
        enum Pair<'a> {
            Trees(&'a Expr, &'a Expr),
            /// After all members that both have: the one that has fewer is less.
            Counts(usize, usize),
        }
        let mut waiting = vec![Pair::Trees(self, other)];
        while let Some(pair) = waiting.pop() {
            let order = match pair {
                Pair::Counts(one, other) => one.cmp(&other),
                Pair::Trees(Self::Event(one), Self::Event(other)) => one.cmp(other),
                Pair::Trees(Self::Rule(one), Self::Rule(other)) => one.cmp(other),
                Pair::Trees(one, other) => {
                    let (members, others) = (one.members(), other.members());
                    waiting.push(Pair::Counts(members.len(), others.len()));
                    let pairs = members.iter().zip(others);
                    waiting.extend(pairs.rev().map(|(one, other)| Pair::Trees(one, other)));
                    one.rank().cmp(&other.rank())
                }
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }
}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut waiting = vec![self];
        while let Some(expr) = waiting.pop() {
            expr.rank().hash(state);
            match expr {
                Self::Event(event) => event.hash(state),
                Self::Rule(name) => name.hash(state),
                other => {
                    other.members().len().hash(state);
                    waiting.extend(other.members().iter().rev());
                }
            }
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// What is still to be written, the next at the end; each at a depth of indentation.
        enum Piece<'a> {
            Text(&'static str),
            Line(usize),
            Expr(&'a Expr, usize),
        }
        let is_pretty = f.alternate();
        let mut waiting = vec![Piece::Expr(self, 0)];
        while let Some(piece) = waiting.pop() {
            let (expr, depth) = match piece {
                Piece::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Piece::Line(depth) => {
                    begin_line(f, depth)?;
                    continue;
                }
                Piece::Expr(expr, depth) => (expr, depth),
            };
            let (name, is_list) = match expr {
                Self::Nothing => {
                    f.write_str("Nothing")?;
                    continue;
                }
                Self::Event(_) => ("Event(", false),
                Self::Rule(_) => ("Rule(", false),
                Self::Seq(_) => ("Seq(", true),
                Self::Either(_) => ("Either(", true),
                Self::Plus(_) => ("Plus(", false),
                Self::Star(_) => ("Star(", false),
                Self::Maybe(_) => ("Maybe(", false),
            };
            f.write_str(name)?;
            if is_pretty {
                begin_line(f, depth + 1)?;
            }
            // What follows the inside, put first, since the next piece is taken from the end.
            waiting.push(Piece::Text(")"));
            if is_pretty {
                waiting.extend([Piece::Line(depth), Piece::Text(",")]);
            }
            match expr {
                Self::Event(event) => write!(f, "{event:?}")?,
                Self::Rule(name) => write!(f, "{name:?}")?,
                _ if !is_list => waiting.push(Piece::Expr(&expr.members()[0], depth + 1)),
                _ if expr.members().is_empty() => f.write_str("[]")?,
                _ => {
                    f.write_char('[')?;
                    waiting.push(Piece::Text("]"));
                    let last = expr.members().len() - 1;
                    if is_pretty {
                        waiting.push(Piece::Line(depth + 1));
                    }
                    for (at, member) in expr.members().iter().enumerate().rev() {
                        if is_pretty {
                            waiting.push(Piece::Text(","));
                        } else if at < last {
                            waiting.push(Piece::Text(", "));
                        }
                        waiting.push(Piece::Expr(member, depth + 2));
                        if is_pretty {
                            waiting.push(Piece::Line(depth + 2));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn begin_line(f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    f.write_char('\n')?;
    (0..depth).try_for_each(|_| f.write_str("    "))
}
