//! The automaton of a grammar whose rules come back to themselves at their ends only.
//!
//! Where a fibre is, is then a stack of places, of which there are finitely many: a call that is the last
//! thing its caller does leaves nothing on the stack, and any other call goes to rules that do not come
//! back to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::TooLarge;
use crate::event::Event;
use crate::grammar::compiled::{At, Compiled, Next};
use crate::grammar::{Grammar, GrammarError};
use crate::machine::{Machine, Offer, explore};
use crate::work::Work;

/// Places, the innermost last; each but that one waits for a call to come back.
type Stack = Vec<At>;

pub(crate) fn machine(grammar: &Grammar) -> Result<Machine, GrammarError> {
    let compiled = grammar.compiled();
    let work = Work::new();
    if let Some(routine) = embedded(compiled, &work)? {
        let (name, _) = &grammar.rules()[compiled.rule(routine)];
        return Err(GrammarError::NotRegular(name.clone()));
    }
    let machine =
        explore(BTreeSet::from([vec![compiled.start()]]), &work, |set: &BTreeSet<Stack>| {
            let mut next: BTreeMap<Event, BTreeSet<Stack>> = BTreeMap::new();
            let mut may_end = false;
            let mut seen = set.clone();
            let mut waiting: Vec<Stack> = set.iter().cloned().collect();
            while let Some(mut stack) = waiting.pop() {
                let Some(at) = stack.pop() else {
                    may_end = true;
                    continue;
                };
                let mut found = Vec::new();
                if compiled.is_complete(at) {
                    found.push(stack.clone());
                }
                for (what, then) in compiled.next(at) {
                    work.spend(2 + stack.len())?;
                    let with = |more: &[At]| [stack.as_slice(), more].concat();
                    match what {
                        Next::Event(event) => {
                            next.entry(event.clone()).or_default().insert(with(&[then]));
                        }
                        Next::Call { routine, last } => {
                            let begin = At { routine, position: 0 };
                            found.push(if last { with(&[begin]) } else { with(&[then, begin]) });
                        }
                    }
                }
                waiting.extend(found.into_iter().filter(|stack| seen.insert(stack.clone())));
            }
            let offers = match may_end {
                true => BTreeSet::from([Offer::new()]),
                false => next.keys().map(|event| Offer::from([event.clone()])).collect(),
            };
            Ok((next, offers))
        })?;
    Ok(machine.minimal(&work)?)
}

/// A routine that can be reached and calls, not as the last thing it does, one that comes back to it.
fn embedded(compiled: &Compiled, work: &Work) -> Result<Option<usize>, TooLarge> {
    let mut calls: BTreeMap<usize, BTreeSet<(usize, bool)>> = BTreeMap::new();
    let mut waiting = vec![compiled.start().routine];
    while let Some(routine) = waiting.pop() {
        if calls.contains_key(&routine) {
            continue;
        }
        let mut own = BTreeSet::new();
        for call in compiled.calls(routine) {
            work.spend(1)?;
            own.insert(call);
        }
        waiting.extend(own.iter().map(|call| call.0));
        calls.insert(routine, own);
    }
    for (&routine, own) in &calls {
        // All that it calls before its end, and what those call in turn.
        let mut waiting: Vec<usize> =
            own.iter().filter(|call| !call.1).map(|call| call.0).collect();
        let mut seen: BTreeSet<usize> = waiting.iter().copied().collect();
        while let Some(next) = waiting.pop() {
            work.spend(1 + calls[&next].len())?;
            waiting.extend(calls[&next].iter().map(|call| call.0).filter(|&to| seen.insert(to)));
        }
        if seen.contains(&routine) {
            return Ok(Some(routine));
        }
    }
    Ok(None)
}
