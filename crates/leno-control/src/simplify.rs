//! From an automaton back to an expression that one can read.
//!
//! States are taken out one after the other, those with the fewest ways through them first, and each way
//! through is written on the edge that replaces it. A state that one can come back to is written as its
//! loop, once or more if nobody leaves it (`X+` at the end of a type never stops), and otherwise any
//! number of times and then a way out.
//!
//! Invariant: the expression has the automaton that it was made from. Two kinds of expression must not
//! be confused: a *way* leads from one state to another, has an end, and something may come after it;
//! a *rest* is all that can still happen, up to the end of the type, where `X+` means for ever. A
//! way becomes a rest only through [`onwards`].

use std::collections::{BTreeMap, BTreeSet};

use crate::automaton::Automaton;
use crate::expr::Expr;

/// An expression of the type.
pub(crate) fn expr(automaton: &Automaton) -> Expr {
    let count = automaton.states().len();
    let component = components(automaton);
    let mut rests: Vec<Option<Expr>> = vec![None; count];
    // Components are numbered so that edges between them lead to lower numbers: those come first.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&state| component[state]);
    let mut entered = BTreeSet::from([0]);
    for (from, state) in automaton.states().iter().enumerate() {
        let others = state.edges().iter().map(|edge| edge.1);
        entered.extend(others.filter(|&to| component[to] != component[from]));
    }
    for state in order.into_iter().filter(|state| entered.contains(state)) {
        rests[state] = Some(rest(automaton, &component, &rests, state));
    }
    rests[0].take().expect("state 0 is always entered")
}

/// All that can happen from `start` on, if the rests of lower components are known.
fn rest(automaton: &Automaton, component: &[usize], rests: &[Option<Expr>], start: usize) -> Expr {
    let mut inside: BTreeSet<usize> =
        (0..component.len()).filter(|&state| component[state] == component[start]).collect();
    let mut ways: BTreeMap<(usize, usize), Expr> = BTreeMap::new();
    let mut exits: BTreeMap<usize, Expr> = BTreeMap::new();
    for &from in &inside {
        let state = &automaton.states()[from];
        let mut out = Vec::new();
        for (event, to) in state.edges() {
            let event = Expr::Event(event.clone());
            if inside.contains(to) {
                add(&mut ways, (from, *to), event);
            } else {
                out.push(onwards(event, rests[*to].clone().expect("lower components are known")));
            }
        }
        if state.ends() {
            out.push(Expr::Nothing);
        }
        if !out.is_empty() {
            exits.insert(from, either(out, true));
        }
    }
    while inside.len() > 1 {
        let through = |&state: &usize| {
            let arriving = ways.keys().filter(|key| key.1 == state && key.0 != state).count();
            let leaving = ways.keys().filter(|key| key.0 == state && key.1 != state).count()
                + usize::from(exits.contains_key(&state));
            (arriving * leaving, usize::MAX - state)
        };
        let out = inside.iter().copied().filter(|&state| state != start).min_by_key(through);
        let out = out.expect("there are others than the first");
        inside.remove(&out);
        take_out(out, &mut ways, &mut exits);
    }
    let circle = ways.remove(&(start, start));
    match (circle, exits.remove(&start)) {
        (None, Some(exit)) => exit,
        (None, None) => Expr::Plus(Box::new(Expr::Nothing)),
        (Some(circle), Some(exit)) => onwards(star(circle), exit),
        (Some(circle), None) => Expr::Plus(Box::new(circle)),
    }
}

/// Replaces the ways through `out` by ways past it.
fn take_out(
    out: usize,
    ways: &mut BTreeMap<(usize, usize), Expr>,
    exits: &mut BTreeMap<usize, Expr>,
) {
    let circle = ways.remove(&(out, out)).map_or(Expr::Nothing, star);
    let touching = |key: &(usize, usize)| key.0 == out || key.1 == out;
    let (touching, others) = std::mem::take(ways).into_iter().partition(|way| touching(&way.0));
    *ways = others;
    let touching: BTreeMap<(usize, usize), Expr> = touching;
    let exit = exits.remove(&out);
    for (&(from, _), before) in touching.iter().filter(|way| way.0.1 == out) {
        let so_far = seq(vec![before.clone(), circle.clone()]);
        for (&(_, to), after) in touching.iter().filter(|way| way.0.0 == out) {
            add(ways, (from, to), seq(vec![so_far.clone(), after.clone()]));
        }
        if let Some(exit) = &exit {
            let new = onwards(so_far, exit.clone());
            let all = exits.remove(&from).into_iter().chain([new]).collect();
            exits.insert(from, either(all, true));
        }
    }
}

fn add(ways: &mut BTreeMap<(usize, usize), Expr>, key: (usize, usize), way: Expr) {
    let all = ways.remove(&key).into_iter().chain([way]).collect();
    ways.insert(key, either(all, false));
}

/// A way, and then a rest.
fn onwards(way: Expr, rest: Expr) -> Expr {
    match rest {
        Expr::Nothing => stopping(way),
        Expr::Seq(mut items) if matches!(items[0], Expr::Star(_)) => {
            items[0] = seq(vec![way, items[0].clone()]);
            Expr::Seq(items).normal()
        }
        rest => Expr::Seq(vec![way, rest]).normal(),
    }
}

/// The way with an end even if nothing comes after it: `X+` would never stop there.
fn stopping(way: Expr) -> Expr {
    match way {
        Expr::Plus(inner) => Expr::Seq(vec![(*inner).clone(), Expr::Star(inner)]).normal(),
        Expr::Maybe(inner) => Expr::Maybe(Box::new(stopping(*inner))),
        Expr::Either(items) => Expr::Either(items.into_iter().map(stopping).collect()).normal(),
        Expr::Seq(mut items) => {
            let last = items.pop().expect("a sequence has members");
            items.push(stopping(last));
            Expr::Seq(items).normal()
        }
        other => other,
    }
}

/// The way any number of times.
fn star(way: Expr) -> Expr {
    match way {
        Expr::Plus(inner) | Expr::Star(inner) | Expr::Maybe(inner) => star(*inner),
        Expr::Nothing => Expr::Nothing,
        way => Expr::Star(Box::new(way)),
    }
}

/// Ways one after the other; `X X*` and `X* X` become `X+`.
fn seq(ways: Vec<Expr>) -> Expr {
    let mut done: Vec<Expr> = Vec::new();
    let flat = match Expr::Seq(ways).normal() {
        Expr::Seq(items) => items,
        single => vec![single],
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

/// One of several; of ways, or of rests.
fn either(all: Vec<Expr>, rests: bool) -> Expr {
    let mut branches: Vec<Expr> = Vec::new();
    let mut empty = false;
    for branch in all {
        let members = match branch {
            Expr::Either(items) => items,
            Expr::Maybe(inner) => {
                empty = true;
                vec![*inner]
            }
            single => vec![single],
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
    match inner {
        inner if !empty || inner == Expr::Nothing => inner,
        Expr::Star(inner) => Expr::Star(inner),
        Expr::Plus(inner) if !rests => Expr::Star(inner),
        inner => Expr::Maybe(Box::new(inner)),
    }
}

/// Alternatives of ways, with what all begin or end with written once.
fn factored(branches: Vec<Expr>) -> Expr {
    if branches.len() < 2 {
        return Expr::Either(branches).normal();
    }
    let mut all: Vec<Vec<Expr>> = branches
        .into_iter()
        .map(|branch| match branch {
            Expr::Seq(items) => items,
            single => vec![single],
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

/// The strongly connected component of each state; edges between two lead to the lower number.
fn components(automaton: &Automaton) -> Vec<usize> {
    let count = automaton.states().len();
    let targets = |state: usize| automaton.states()[state].edges().iter().map(|edge| edge.1);
    // States in the order in which a search leaves them (with a stack of its own, since automata may
    // be deeper than the fibre that asks has stack) ..
    let (mut left, mut seen) = (Vec::new(), vec![false; count]);
    let mut path = vec![(0, targets(0).collect::<Vec<_>>())];
    seen[0] = true;
    while let Some((state, to)) = path.last_mut() {
        match to.pop() {
            Some(next) if !seen[next] => {
                seen[next] = true;
                path.push((next, targets(next).collect()));
            }
            Some(_) => {}
            None => {
                left.push(*state);
                path.pop();
            }
        }
    }
    // .. and back along the edges, the one left last first.
    let mut sources = vec![Vec::new(); count];
    for from in 0..count {
        targets(from).for_each(|to| sources[to].push(from));
    }
    let mut component = vec![usize::MAX; count];
    let mut found = 0;
    for &root in left.iter().rev() {
        let mut waiting = vec![root];
        let mut any = false;
        while let Some(state) = waiting.pop() {
            if component[state] == usize::MAX {
                component[state] = found;
                any = true;
                waiting.extend(&sources[state]);
            }
        }
        found += usize::from(any);
    }
    component.iter().map(|&number| found - 1 - number).collect()
}
