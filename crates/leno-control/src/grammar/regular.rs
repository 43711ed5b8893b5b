//! The automaton of a grammar whose rules come back to themselves at their ends only.
//!
//! Where a fibre is, is then a stack of places, of which there are finitely many: a call that is the last
//! thing its caller does leaves nothing on the stack, and any other call goes to rules that do not come
//! back to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::Event;
use crate::grammar::compiled::{At, Compiled, Next};
use crate::grammar::{Grammar, GrammarError};
use crate::machine::{Machine, Offer, explore};

/// Places, the innermost last; each but that one waits for a call to come back.
type Stack = Vec<At>;

pub(crate) fn machine(grammar: &Grammar) -> Result<Machine, GrammarError> {
    let compiled = grammar.compiled();
    if let Some(routine) = embedded(compiled) {
        let (name, _) = &grammar.rules()[compiled.rule(routine)];
        return Err(GrammarError::NotRegular(name.clone()));
    }
    let machine = explore(BTreeSet::from([vec![compiled.start()]]), |set: &BTreeSet<Stack>| {
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
    Ok(machine.minimal(|place| place.offers.clone()))
}

/// A routine that can be reached and calls, not as the last thing it does, one that comes back to it.
fn embedded(compiled: &Compiled) -> Option<usize> {
    let reached = |from: usize| {
        let mut seen = BTreeSet::from([from]);
        let mut waiting = vec![from];
        while let Some(routine) = waiting.pop() {
            waiting
                .extend(compiled.calls(routine).map(|call| call.0).filter(|&to| seen.insert(to)));
        }
        seen
    };
    let comes_back = |routine: usize| {
        compiled.calls(routine).any(|(to, last)| !last && reached(to).contains(&routine))
    };
    reached(compiled.start().routine).into_iter().find(|&routine| comes_back(routine))
}
