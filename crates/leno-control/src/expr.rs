//! Control types as they are written: a tree of expressions, and its text.
//!
//! Invariant: in a tree that was parsed or [normalised](Expr::normal), sequences and alternatives
//! have at least two members, none of which is of their own kind. Text and tree then determine each
//! other.
//!
//! Trees come from texts and programs, and are worked with on the stacks of coroutines, which are small. So nothing here
//! recurses, `Drop` and the traits of `std` in `expr/traits.rs` included, and [`ControlType`](crate::ControlType) takes
//! trees of limited depth only.
//!
//! Deliberately not here: what an expression means; see `positions.rs`.

use std::fmt::{self, Write as _};
use std::mem::take;

use crate::event::Event;

mod traits;

/// A control type as a tree.
///
/// A tree may be as deep as memory allows: it is dropped, cloned, compared, hashed and written without recursion. Since it
/// has a `Drop`, members are not moved out of it by a pattern; take them with [`std::mem::take`], or clone them.
///
/// # Examples
/// ```
/// use leno_control::{Event, Expr};
///
/// let deep = (0..1_000_000).fold(Expr::Event(Event::Spawn), |inner, _| Expr::Maybe(Box::new(inner)));
/// assert_eq!(deep, deep.clone());
/// ```
#[derive(Default)]
pub enum Expr {
    /// `()`: no event at all.
    #[default]
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
        self.rebuilt(&Self::leaf, &Self::joined)
    }

    /// The normal form, if all members have it. Looks no deeper: a parser that calls it at each level takes a
    /// time that grows with the text, not with text and depth.
    pub(crate) fn joined(self) -> Self {
        match self.open() {
            Open::Seq(items) => {
                let mut flat = Vec::new();
                for item in items {
                    match item.open() {
                        Open::Seq(inner) => flat.extend(inner),
                        item => flat.push(item.shut()),
                    }
                }
                if flat.len() > 1 { Self::Seq(flat) } else { flat.pop().unwrap_or(Self::Nothing) }
            }
            Open::Either(items) => {
                let mut flat = Vec::new();
                for item in items {
                    match item.open() {
                        Open::Either(inner) => flat.extend(inner),
                        item => flat.push(item.shut()),
                    }
                }
                if flat.len() > 1 {
                    Self::Either(flat)
                } else {
                    flat.pop().unwrap_or(Self::Nothing)
                }
            }
            other => other.shut(),
        }
    }

    /// How deep the tree is: more than the parentheses and postfix signs around any part of its text.
    pub(crate) fn depth(&self) -> usize {
        let (mut deepest, mut waiting) = (0, vec![(self, 1)]);
        while let Some((expr, level)) = waiting.pop() {
            deepest = deepest.max(level);
            waiting.extend(expr.members().iter().map(|member| (member, level + 1)));
        }
        deepest
    }

    /// Calls `visit` with every expression in the tree, in the order of the text.
    pub(crate) fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        let mut waiting = vec![self];
        while let Some(expr) = waiting.pop() {
            visit(expr);
            waiting.extend(expr.members().iter().rev());
        }
    }

    /// The tree with another event in the place of each.
    pub(crate) fn map(&self, change: &impl Fn(&Event) -> Event) -> Self {
        let leaf = |leaf: &Self| match leaf {
            Self::Event(event) => Self::Event(change(event)),
            other => other.leaf(),
        };
        self.rebuilt(&leaf, &|expr| expr)
    }

    /// What it is made of; nothing, if it is a leaf.
    fn members(&self) -> &[Self] {
        match self {
            Self::Seq(items) | Self::Either(items) => items,
            Self::Plus(inner) | Self::Star(inner) | Self::Maybe(inner) => {
                std::slice::from_ref(inner)
            }
            Self::Nothing | Self::Event(_) | Self::Rule(_) => &[],
        }
    }

    /// One of this kind, of other members.
    fn of(&self, mut members: Vec<Self>) -> Self {
        let mut one = || Box::new(members.pop().unwrap_or(Self::Nothing));
        match self {
            Self::Plus(_) => Self::Plus(one()),
            Self::Star(_) => Self::Star(one()),
            Self::Maybe(_) => Self::Maybe(one()),
            Self::Seq(_) => Self::Seq(members),
            Self::Either(_) => Self::Either(members),
            leaf => leaf.leaf(),
        }
    }

    /// A copy of a leaf.
    fn leaf(&self) -> Self {
        match self {
            Self::Event(event) => Self::Event(event.clone()),
            Self::Rule(name) => Self::Rule(name.clone()),
            _ => Self::Nothing,
        }
    }

    /// A copy in which each leaf is replaced by `leaf`, and each other expression, from the innermost on, by `join`.
    fn rebuilt(&self, leaf: &impl Fn(&Self) -> Self, join: &impl Fn(Self) -> Self) -> Self {
        let (mut waiting, mut done) = (vec![(self, false)], Vec::new());
        while let Some((expr, are_members_done)) = waiting.pop() {
            let is_leaf = matches!(expr, Self::Nothing | Self::Event(_) | Self::Rule(_));
            if is_leaf {
                done.push(leaf(expr));
            } else if are_members_done {
                let members = done.split_off(done.len() - expr.members().len());
                done.push(join(expr.of(members)));
            } else {
                waiting.push((expr, true));
                waiting.extend(expr.members().iter().rev().map(|member| (member, false)));
            }
        }
        done.pop().unwrap_or(Self::Nothing)
    }

    /// Its members, to be moved.
    pub(crate) fn open(mut self) -> Open {
        match &mut self {
            Self::Seq(items) => Open::Seq(take(items)),
            Self::Either(items) => Open::Either(take(items)),
            Self::Plus(inner) => Open::Plus(take(inner)),
            Self::Star(inner) => Open::Star(take(inner)),
            Self::Maybe(inner) => Open::Maybe(take(inner)),
            Self::Nothing | Self::Event(_) | Self::Rule(_) => Open::Leaf(self),
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

    /// Its text.
    fn text(&self, spaced: bool) -> String {
        let mut to = String::new();
        let mut waiting = vec![Piece::Expr(self, Binding::Either)];
        while let Some(piece) = waiting.pop() {
            let (expr, tight) = match piece {
                Piece::Text(text) => {
                    to.push_str(text);
                    continue;
                }
                Piece::Expr(expr, tight) => (expr, tight),
            };
            // What comes last is put first: the next piece is taken from the end.
            if expr.binding() < tight {
                let inside = Piece::Expr(expr, Binding::Either);
                waiting.extend([Piece::Text(")"), inside, Piece::Text("(")]);
                continue;
            }
            let (between, tight, sign) = match expr {
                Self::Nothing => ("", tight, "()"),
                Self::Event(event) => {
                    let _ = write!(to, "{event}");
                    continue;
                }
                Self::Rule(name) => {
                    let _ = write!(to, "<{name}>");
                    continue;
                }
                Self::Either(_) => (if spaced { " | " } else { "|" }, Binding::Seq, ""),
                Self::Seq(_) => (if spaced { " " } else { "" }, Binding::Postfix, ""),
                Self::Plus(_) => ("", Binding::Leaf, "+"),
                Self::Star(_) => ("", Binding::Leaf, "*"),
                Self::Maybe(_) => ("", Binding::Leaf, "?"),
            };
            waiting.push(Piece::Text(sign));
            for (at, member) in expr.members().iter().enumerate().rev() {
                waiting.push(Piece::Expr(member, tight));
                waiting.push(Piece::Text(if at == 0 { "" } else { between }));
            }
        }
        to
    }

    fn binding(&self) -> Binding {
        match self {
            Self::Either(_) => Binding::Either,
            Self::Seq(_) => Binding::Seq,
            Self::Plus(_) | Self::Star(_) | Self::Maybe(_) => Binding::Postfix,
            Self::Nothing | Self::Event(_) | Self::Rule(_) => Binding::Leaf,
        }
    }
}

/// What is still to be written.
enum Piece<'a> {
    Text(&'static str),
    /// In parentheses if it binds weaker than this.
    Expr(&'a Expr, Binding),
}

/// An expression whose members can be moved out of it: [`Expr`] has a `Drop`.
pub(crate) enum Open {
    /// Without members.
    Leaf(Expr),
    Seq(Vec<Expr>),
    Either(Vec<Expr>),
    Plus(Box<Expr>),
    Star(Box<Expr>),
    Maybe(Box<Expr>),
}

impl Open {
    /// The expression again.
    pub(crate) fn shut(self) -> Expr {
        match self {
            Self::Leaf(leaf) => leaf,
            Self::Seq(items) => Expr::Seq(items),
            Self::Either(items) => Expr::Either(items),
            Self::Plus(inner) => Expr::Plus(inner),
            Self::Star(inner) => Expr::Star(inner),
            Self::Maybe(inner) => Expr::Maybe(inner),
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
        f.write_str(&self.text(self.wants_spaces()))
    }
}
