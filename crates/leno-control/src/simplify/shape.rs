//! Expressions put together so that they stay short.
//!
//! [`seq`], [`star`] and [`either`] make ways, [`onwards`] and [`either`] make rests; `simplify.rs` says what
//! these are.

use crate::expr::{Expr, Open};

/// A way, and then a rest.
pub(super) fn onwards(way: Expr, rest: Expr) -> Expr {
    match rest.open() {
        Open::Leaf(Expr::Nothing) => stopping(way),
        // For ever, and once before, is for ever.
        Open::Plus(inner) if way == *inner => Expr::Plus(inner),
        Open::Seq(mut items) if matches!(items[0], Expr::Star(_)) => {
            items[0] = seq(vec![way, items[0].clone()]);
            Expr::Seq(items).normal()
        }
        rest => Expr::Seq(vec![way, rest.shut()]).normal(),
    }
}

/// The way with an end even if nothing comes after it: `X+` would never stop there.
fn stopping(way: Expr) -> Expr {
    match way.open() {
        Open::Plus(inner) => Expr::Seq(vec![(*inner).clone(), Expr::Star(inner)]).normal(),
        Open::Maybe(inner) => Expr::Maybe(Box::new(stopping(*inner))),
        Open::Either(items) => Expr::Either(items.into_iter().map(stopping).collect()).normal(),
        Open::Seq(mut items) => {
            let last = items.pop().expect("a sequence has members");
            items.push(stopping(last));
            Expr::Seq(items).normal()
        }
        other => other.shut(),
    }
}

/// The way any number of times.
pub(super) fn star(way: Expr) -> Expr {
    match way.open() {
        Open::Plus(inner) | Open::Star(inner) | Open::Maybe(inner) => star(*inner),
        Open::Leaf(Expr::Nothing) => Expr::Nothing,
        way => Expr::Star(Box::new(way.shut())),
    }
}

/// Ways one after the other; `X X*` and `X* X` become `X+`.
pub(super) fn seq(ways: Vec<Expr>) -> Expr {
    let mut done: Vec<Expr> = Vec::new();
    let flat = match Expr::Seq(ways).normal().open() {
        Open::Seq(items) => items,
        single => vec![single.shut()],
    };
    for item in flat.into_iter().filter(|item| *item != Expr::Nothing) {
        done.push(item);
        shorten(&mut done);
    }
    Expr::Seq(done).normal()
}

/// Turns `X X*` or `X* X` at the end of a sequence into `X+`.
fn shorten(items: &mut Vec<Expr>) {
    let members = |inner: &Expr| match inner {
        Expr::Seq(items) => items.clone(),
        single => vec![single.clone()],
    };
    for at in 0..items.len() {
        let Expr::Star(inner) = &items[at] else { continue };
        let body = members(inner);
        let plus = Expr::Plus(inner.clone());
        if at + 1 == items.len() && items[..at].ends_with(&body) {
            items.truncate(at - body.len());
            items.push(plus);
            return;
        }
        if items[at + 1..] == body[..] {
            items.truncate(at);
            items.push(plus);
            return;
        }
    }
}

/// As how many alternatives [`either`] takes an expression.
pub(super) fn branches(expr: &Expr) -> usize {
    if let Expr::Either(items) = expr { items.len() } else { 1 }
}

/// One of several; of ways, or of rests.
pub(super) fn either(all: Vec<Expr>, rests: bool) -> Expr {
    let mut branches: Vec<Expr> = Vec::new();
    let mut empty = false;
    for branch in all {
        let members = match branch.open() {
            Open::Either(items) => items,
            Open::Maybe(inner) => {
                empty = true;
                vec![*inner]
            }
            single => vec![single.shut()],
        };
        for member in members {
            if member == Expr::Nothing {
                empty = true;
            } else if !branches.contains(&member) {
                branches.push(member);
            }
        }
    }
    let inner = if rests { Expr::Either(branches).normal() } else { factored(branches) };
    if !empty || inner == Expr::Nothing {
        return inner;
    }
    match inner.open() {
        Open::Star(inner) => Expr::Star(inner),
        Open::Plus(inner) if !rests => Expr::Star(inner),
        inner => Expr::Maybe(Box::new(inner.shut())),
    }
}

/// Alternatives of ways, with what all begin or end with written once.
fn factored(branches: Vec<Expr>) -> Expr {
    if branches.len() < 2 {
        return Expr::Either(branches).normal();
    }
    let mut all: Vec<Vec<Expr>> = branches
        .into_iter()
        .map(|branch| match branch.open() {
            Open::Seq(items) => items,
            single => vec![single.shut()],
        })
        .collect();
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while let Some(same) = all[0].first().cloned()
        && all.iter().all(|items| items.first() == Some(&same))
    {
        all.iter_mut().for_each(|items| drop(items.remove(0)));
        front.push(same);
    }
    while let Some(same) = all[0].last().cloned()
        && all.iter().all(|items| items.last() == Some(&same))
    {
        all.iter_mut().for_each(|items| drop(items.pop()));
        back.insert(0, same);
    }
    let middle = all.into_iter().map(seq).collect();
    if front.is_empty() && back.is_empty() {
        return Expr::Either(middle).normal();
    }
    front.push(either(middle, false));
    front.extend(back);
    seq(front)
}
