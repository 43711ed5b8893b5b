//! What an expression means: which of its leaves may come first, and which after which.
//!
//! Each leaf (event or rule) of the tree is a position, numbered from 1 in the order of the text;
//! position 0 is where nothing has happened yet. A fibre stands at the position of its last event.
//! So whoever follows a fibre through its type can always point into the text.
//!
//! A repetition `X+` with nothing after it never stops: that is how a continuous device is written
//! (Skaller 2017). Whether something comes after it is a matter of the text alone: the last of a
//! sequence, and what stands there in an alternative or under `?`, is at the end; what is under `+`
//! or `*` is not.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::TooLarge;
use crate::event::Event;
use crate::expr::Expr;
use crate::work::Work;

/// What stands at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Event(Event),
    Rule { name: String, at_end: bool },
}

/// The positions of an expression.
#[derive(Debug)]
pub(crate) struct Positions {
    leaves: Vec<Leaf>,
    follow: Vec<Vec<usize>>,
    complete: Vec<bool>,
}

/// A part of the tree while positions are worked out.
struct Part {
    /// Whether it can be passed without an event.
    empty: bool,
    first: Vec<usize>,
    last: Vec<usize>,
}

impl Positions {
    /// Those of `expr`; `at_end` says that nothing comes after it.
    pub(crate) fn new(expr: &Expr, at_end: bool, work: &Work) -> Result<Self, TooLarge> {
        let mut leaves = 0;
        expr.each(&mut |part| {
            leaves += usize::from(matches!(part, Expr::Event(_) | Expr::Rule(_)))
        });
        if leaves > TooLarge::MOST_EVENTS {
            return Err(TooLarge::of_events());
        }
        let mut new = Self { leaves: Vec::new(), follow: vec![Vec::new()], complete: Vec::new() };
        let whole = new.part(expr, at_end, work)?;
        new.complete = vec![false; new.follow.len()];
        new.complete[0] = whole.empty;
        for last in whole.last {
            new.complete[last] = true;
        }
        new.follow[0] = whole.first;
        for follow in &mut new.follow {
            follow.sort_unstable();
            follow.dedup();
        }
        Ok(new)
    }

    /// What stands at a position other than 0.
    pub(crate) fn leaf(&self, position: usize) -> &Leaf {
        &self.leaves[position - 1]
    }

    /// The positions that may come next.
    pub(crate) fn follow(&self, position: usize) -> &[usize] {
        &self.follow[position]
    }

    /// Whether the expression may be done after this position.
    pub(crate) fn is_complete(&self, position: usize) -> bool {
        self.complete[position]
    }

    /// The positions after each event that may come next at one of these.
    pub(crate) fn after(
        &self,
        set: &BTreeSet<usize>,
        work: &Work,
    ) -> Result<BTreeMap<Event, BTreeSet<usize>>, TooLarge> {
        work.spend(set.iter().map(|&from| self.follow(from).len()).sum())?;
        let mut next: BTreeMap<Event, BTreeSet<usize>> = BTreeMap::new();
        for &to in set.iter().flat_map(|&from| self.follow(from)) {
            if let Leaf::Event(event) = self.leaf(to) {
                match next.get_mut(event) {
                    Some(set) => drop(set.insert(to)),
                    None => drop(next.insert(event.clone(), BTreeSet::from([to]))),
                }
            }
        }
        Ok(next)
    }

    fn leaf_part(&mut self, leaf: Leaf) -> Part {
        self.leaves.push(leaf);
        self.follow.push(Vec::new());
        let position = self.leaves.len();
        Part { empty: false, first: vec![position], last: vec![position] }
    }

    fn link(&mut self, from: &[usize], to: &[usize], work: &Work) -> Result<(), TooLarge> {
        work.spend_product(from.len(), to.len())?;
        for &position in from {
            self.follow[position].extend_from_slice(to);
        }
        Ok(())
    }

    /// Works out a part, without recursion.
    fn part(&mut self, expr: &Expr, at_end: bool, work: &Work) -> Result<Part, TooLarge> {
        let mut open: Vec<Open<'_>> = Vec::new();
        let mut next = (expr, at_end);
        loop {
            let (expr, at_end) = next;
            let mut done = match expr {
                Expr::Nothing => Part { empty: true, first: Vec::new(), last: Vec::new() },
                Expr::Event(event) => self.leaf_part(Leaf::Event(event.clone())),
                Expr::Rule(name) => self.leaf_part(Leaf::Rule { name: name.clone(), at_end }),
                Expr::Seq(items) | Expr::Either(items) => {
                    let is_seq = matches!(expr, Expr::Seq(_));
                    let empty = is_seq || items.is_empty();
                    let whole = Part { empty, first: Vec::new(), last: Vec::new() };
                    match items.split_first() {
                        Some((first, rest)) => {
                            next = (first, at_end && (!is_seq || rest.is_empty()));
                            open.push(Open { expr, at_end, whole, rest });
                            continue;
                        }
                        None => whole,
                    }
                }
                Expr::Plus(inner) | Expr::Star(inner) | Expr::Maybe(inner) => {
                    next = (inner, at_end && matches!(expr, Expr::Maybe(_)));
                    let whole = Part { empty: false, first: Vec::new(), last: Vec::new() };
                    open.push(Open { expr, at_end, whole, rest: &[] });
                    continue;
                }
            };
            // Whatever was open for this part goes on with it.
            loop {
                let Some(mut around) = open.pop() else { return Ok(done) };
                self.join(&mut around, done, work)?;
                if let Some((first, rest)) = around.rest.split_first() {
                    let is_seq = matches!(around.expr, Expr::Seq(_));
                    next = (first, around.at_end && (!is_seq || rest.is_empty()));
                    around.rest = rest;
                    open.push(around);
                    break;
                }
                done = around.whole;
            }
        }
    }

    /// Adds a member that was worked out.
    fn join(&mut self, around: &mut Open<'_>, part: Part, work: &Work) -> Result<(), TooLarge> {
        let whole = &mut around.whole;
        match around.expr {
            Expr::Seq(_) => {
                self.link(&whole.last, &part.first, work)?;
                work.spend(1 + part.first.len() + part.last.len())?;
                if whole.empty {
                    whole.first.extend_from_slice(&part.first);
                }
                if !part.empty {
                    whole.last.clear();
                }
                whole.last.extend(part.last);
                whole.empty &= part.empty;
            }
            Expr::Either(_) => {
                work.spend(1 + part.first.len() + part.last.len())?;
                whole.first.extend(part.first);
                whole.last.extend(part.last);
                whole.empty |= part.empty;
            }
            Expr::Plus(_) | Expr::Star(_) => {
                self.link(&part.last, &part.first, work)?;
                *whole = match around.expr {
                    Expr::Plus(_) if around.at_end => {
                        Part { empty: false, first: part.first, last: Vec::new() }
                    }
                    Expr::Plus(_) => part,
                    _ => Part { empty: true, ..part },
                };
            }
            _ => *whole = Part { empty: true, ..part },
        }
        Ok(())
    }
}

/// An expression of which members are worked out.
struct Open<'a> {
    expr: &'a Expr,
    at_end: bool,
    /// Of the members so far.
    whole: Part,
    /// The members that are left.
    rest: &'a [Expr],
}
