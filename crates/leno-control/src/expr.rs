//! Control types as they are written: a tree of expressions, and its text.
//!
//! Invariant: in a tree that was parsed or [normalised](Expr::normal), sequences and alternatives
//! have at least two members, none of which is of their own kind. Text and tree then determine each
//! other.
//!
//! Deliberately not here: what an expression means; see `positions.rs`.

use std::fmt::{self, Write as _};

use crate::event::Event;

/// A control type as a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expr {
    /// `()`: no event at all.
    Nothing,
    /// `R`, `W2`, `S`: one event.
    Event(Event),
    /// `<name>`: whatever the rule of that name says; only in a [`Grammar`](crate::Grammar).
    Rule(String),
    /// `RW`: one after the other.
    Seq(Vec<Expr>),
    /// `R|W`: one of them; which, is the fibre's choice.
    Either(Vec<Expr>),
    /// `R+`: once or more. At the end of a type: for ever.
    Plus(Box<Expr>),
    /// `R*`: any number of times, also none. At the end of a type it may stop, then the fibre ends.
    Star(Box<Expr>),
    /// `R?`: once or not at all.
    Maybe(Box<Expr>),
}

impl Expr {
    /// The same without sequences in sequences, alternatives in alternatives, or only one of either.
    #[must_use]
    pub fn normal(self) -> Self {
        let all = |items: Vec<Self>| items.into_iter().map(Self::normal).collect();
        match self {
            Self::Seq(items) => Self::Seq(all(items)).joined(),
            Self::Either(items) => Self::Either(all(items)).joined(),
            Self::Plus(inner) => Self::Plus(Box::new(inner.normal())),
            Self::Star(inner) => Self::Star(Box::new(inner.normal())),
            Self::Maybe(inner) => Self::Maybe(Box::new(inner.normal())),
            leaf => leaf,
        }
    }

    /// The normal form, if all members have it. Looks no deeper: a parser that calls it at each level takes a
    /// time that grows with the text, not with text and depth.
    pub(crate) fn joined(self) -> Self {
        match self {
            Self::Seq(items) => {
                let mut flat = Vec::new();
                for item in items {
                    match item {
                        Self::Seq(inner) => flat.extend(inner),
                        item => flat.push(item),
                    }
                }
                if flat.len() > 1 { Self::Seq(flat) } else { flat.pop().unwrap_or(Self::Nothing) }
            }
            Self::Either(items) => {
                let mut flat = Vec::new();
                for item in items {
                    match item {
                        Self::Either(inner) => flat.extend(inner),
                        item => flat.push(item),
                    }
                }
                if flat.len() > 1 {
                    Self::Either(flat)
                } else {
                    flat.pop().unwrap_or(Self::Nothing)
                }
            }
            other => other,
        }
    }

    /// How deep the tree is: more than the parentheses and postfix signs around any part of its text.
    pub(crate) fn depth(&self) -> usize {
        1 + match self {
            Self::Seq(items) | Self::Either(items) => {
                items.iter().map(Self::depth).max().unwrap_or(0)
            }
            Self::Plus(inner) | Self::Star(inner) | Self::Maybe(inner) => inner.depth(),
            Self::Nothing | Self::Event(_) | Self::Rule(_) => 0,
        }
    }

    /// Calls `visit` with every expression in the tree, in the order of the text.
    pub(crate) fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        match self {
            Self::Seq(items) | Self::Either(items) => items.iter().for_each(|i| i.each(visit)),
            Self::Plus(inner) | Self::Star(inner) | Self::Maybe(inner) => inner.each(visit),
            Self::Nothing | Self::Event(_) | Self::Rule(_) => {}
        }
    }

    /// The tree with another event in the place of each.
    pub(crate) fn map(&self, change: &impl Fn(&Event) -> Event) -> Self {
        let all = |items: &[Expr]| items.iter().map(|item| item.map(change)).collect();
        match self {
            Self::Event(event) => Self::Event(change(event)),
            Self::Seq(items) => Self::Seq(all(items)),
            Self::Either(items) => Self::Either(all(items)),
            Self::Plus(inner) => Self::Plus(Box::new(inner.map(change))),
            Self::Star(inner) => Self::Star(Box::new(inner.map(change))),
            Self::Maybe(inner) => Self::Maybe(Box::new(inner.map(change))),
            leaf => leaf.clone(),
        }
    }

    /// Whether names of letters occur, so that spaces make the text readable.
    fn wants_spaces(&self) -> bool {
        let mut found = false;
        self.each(&mut |expr| {
            found |= match expr {
                Self::Event(event) => {
                    event.port().is_some_and(|p| p.name().contains(|c: char| !c.is_ascii_digit()))
                }
                Self::Rule(_) => true,
                _ => false,
            }
        });
        found
    }

    /// Writes itself, in parentheses if it binds weaker than `tight`.
    fn put(&self, to: &mut String, tight: Binding, spaced: bool) {
        let own = match self {
            Self::Either(_) => Binding::Either,
            Self::Seq(_) => Binding::Seq,
            Self::Plus(_) | Self::Star(_) | Self::Maybe(_) => Binding::Postfix,
            Self::Nothing | Self::Event(_) | Self::Rule(_) => Binding::Leaf,
        };
        if own < tight {
            to.push('(');
            self.put(to, Binding::Either, spaced);
            to.push(')');
            return;
        }
        let mut many = |items: &[Expr], between: &str, tight| {
            for (at, item) in items.iter().enumerate() {
                to.push_str(if at == 0 { "" } else { between });
                item.put(to, tight, spaced);
            }
        };
        match self {
            Self::Either(items) => many(items, if spaced { " | " } else { "|" }, Binding::Seq),
            Self::Seq(items) => many(items, if spaced { " " } else { "" }, Binding::Postfix),
            Self::Nothing => to.push_str("()"),
            Self::Event(event) => {
                let _ = write!(to, "{event}");
            }
            Self::Rule(name) => {
                let _ = write!(to, "<{name}>");
            }
            Self::Plus(inner) | Self::Star(inner) | Self::Maybe(inner) => {
                inner.put(to, Binding::Leaf, spaced);
                to.push(match self {
                    Self::Plus(_) => '+',
                    Self::Star(_) => '*',
                    _ => '?',
                });
            }
        }
    }
}

/// How tightly an expression holds together, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Either,
    Seq,
    Postfix,
    Leaf,
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.put(&mut text, Binding::Either, self.wants_spaces());
        f.write_str(&text)
    }
}
