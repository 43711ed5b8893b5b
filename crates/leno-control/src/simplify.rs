//! From an automaton back to something that one can read.
//!
//! States are taken out one after the other, those with the fewest ways through them first, and each way
//! through is written on the edge that replaces it. A state that one can come back to is written as its
//! loop, once or more if nobody leaves it (`X+` at the end of a type never stops), and otherwise any
//! number of times and then a way out. If that becomes too long to be of use, each state becomes a rule of a
//! grammar instead.
//!
//! Invariant: what is written has the automaton that it was made from, and can be read by the parser. Two
//! kinds of expression must not be confused: a *way* leads from one state to another, has an end, and
//! something may come after it; a *rest* is all that can still happen, up to the end of the type, where `X+`
//! means for ever. A way becomes a rest only through [`onwards`].

mod components;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use components::components;
use shape::{either, onwards, seq, star};

use crate::automaton::{Automaton, State};
use crate::expr::Expr;
use crate::work::Work;

/// How many states are taken out, and how many events are written, before it is too long.
const MOST: usize = 300;

/// How deep an expression may be before it is too long: one that people can read is less, and what is worked out here
/// recurses that deep, perhaps on the stack of a coroutine.
const DEEPEST: usize = 40;

/// Ways between two states that are left.
type Ways = BTreeMap<(usize, usize), Expr>;

/// The rest after leaving from a state that is left.
type Exits = BTreeMap<usize, Expr>;

/// An expression of the type, if there is one of reasonable length that takes a reasonable amount of work.
pub(crate) fn expr(automaton: &Automaton, work: &Work) -> Option<Expr> {
    let count = automaton.states().len();
    if count > MOST {
        return None;
    }
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
        rests[state] = Some(short(rest(automaton, &component, &rests, state, work)?)?);
    }
    rests[0].take()
}

/// A rule for each state, named by its number.
pub(crate) fn rules(automaton: &Automaton) -> Vec<(String, Expr)> {
    let rule = |(number, state): (usize, &State)| {
        let edge = |(event, to): &(_, usize)| {
            Expr::Seq(vec![Expr::Event(Clone::clone(event)), Expr::Rule(to.to_string())])
        };
        let mut all: Vec<Expr> = state.edges().iter().map(edge).collect();
        if state.ends() {
            all.push(Expr::Nothing);
        } else if all.is_empty() {
            all.push(Expr::Plus(Box::new(Expr::Nothing)));
        }
        (number.to_string(), Expr::Either(all).normal())
    };
    automaton.states().iter().enumerate().map(rule).collect()
}

/// The expression itself, if it is not too long and can be parsed.
fn short(expr: Expr) -> Option<Expr> {
    (events(&expr) <= MOST && expr.depth() <= DEEPEST).then_some(expr)
}

/// With how many events it is written.
fn events(expr: &Expr) -> usize {
    let mut events = 0;
    expr.each(&mut |part| events += usize::from(matches!(part, Expr::Event(_))));
    events
}

/// One of several, if it is not too long. Each branch may be compared with all before it.
fn one_of(all: Vec<Expr>, rests: bool, work: &Work) -> Option<Expr> {
    let branches: usize = all.iter().map(shape::branches).sum();
    let events: usize = all.iter().map(events).sum();
    work.spend_product(branches, events + 1).ok()?;
    short(either(all, rests))
}

/// All that can happen from `start` on, if the rests of lower components are known.
fn rest(
    automaton: &Automaton,
    component: &[usize],
    rests: &[Option<Expr>],
    start: usize,
    work: &Work,
) -> Option<Expr> {
    let mut inside: BTreeSet<usize> =
        (0..component.len()).filter(|&state| component[state] == component[start]).collect();
    let (mut ways, mut exits) = (Ways::new(), Exits::new());
    for &from in &inside {
        let state = &automaton.states()[from];
        let (mut out, mut length) = (Vec::new(), 0);
        for (event, to) in state.edges() {
            let event = Expr::Event(event.clone());
            if inside.contains(to) {
                add(&mut ways, (from, *to), event, work)?;
                continue;
            }
            let after = rests[*to].as_ref().expect("lower components are known");
            let branch = onwards(event, after.clone());
            // Each begins with an event of its own, so all of them are written in the end. Stopping now leaves them
            // uncompared.
            length += events(&branch);
            work.spend(length).ok()?;
            if length > MOST {
                return None;
            }
            out.push(branch);
        }
        if state.ends() {
            out.push(Expr::Nothing);
        }
        if !out.is_empty() {
            exits.insert(from, one_of(out, true, work)?);
        }
    }
    while inside.len() > 1 {
        let (mut arriving, mut leaving) = (vec![0; component.len()], vec![0; component.len()]);
        for &(from, to) in ways.keys().filter(|way| way.0 != way.1) {
            leaving[from] += 1;
            arriving[to] += 1;
        }
        exits.keys().for_each(|&from| leaving[from] += 1);
        let through = |&state: &usize| (arriving[state] * leaving[state], usize::MAX - state);
        let out = inside.iter().copied().filter(|&state| state != start).min_by_key(through);
        let out = out.expect("there are others than the first");
        inside.remove(&out);
        take_out(out, &mut ways, &mut exits, work)?;
    }
    let circle = ways.remove(&(start, start));
    Some(match (circle, exits.remove(&start)) {
        (None, Some(exit)) => exit,
        (None, None) => Expr::Plus(Box::new(Expr::Nothing)),
        (Some(circle), Some(exit)) => onwards(star(circle), exit),
        (Some(circle), None) => Expr::Plus(Box::new(circle)),
    })
}

/// Replaces the ways through `out` by ways past it.
fn take_out(out: usize, ways: &mut Ways, exits: &mut Exits, work: &Work) -> Option<()> {
    let circle = ways.remove(&(out, out)).map_or(Expr::Nothing, star);
    let touching: Ways = ways.extract_if(.., |way, _| way.0 == out || way.1 == out).collect();
    let exit = exits.remove(&out);
    for (&(from, _), before) in touching.iter().filter(|way| way.0.1 == out) {
        let so_far = seq(vec![before.clone(), circle.clone()]);
        for (&(_, to), after) in touching.iter().filter(|way| way.0.0 == out) {
            add(ways, (from, to), seq(vec![so_far.clone(), after.clone()]), work)?;
        }
        if let Some(exit) = &exit {
            let new = onwards(so_far, exit.clone());
            let all = exits.remove(&from).into_iter().chain([new]).collect();
            exits.insert(from, one_of(all, true, work)?);
        }
    }
    Some(())
}

fn add(ways: &mut Ways, key: (usize, usize), way: Expr, work: &Work) -> Option<()> {
    let all = ways.remove(&key).into_iter().chain([way]).collect();
    ways.insert(key, one_of(all, false, work)?);
    Some(())
}

#[cfg(test)]
mod tests;
