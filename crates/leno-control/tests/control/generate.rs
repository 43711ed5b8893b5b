//! Random types from a seed, and what they mean, worked out in the plainest way.
//!
//! The meaning here is a second one, on purpose: sets of words, no positions and no automata.

use std::collections::{BTreeMap, BTreeSet};

use leno_control::{Event, Expr, Grammar};

use crate::lots::Lots;

/// A type of at most `size` events out of these.
pub(crate) fn expr(lots: &mut Lots, size: usize, events: &[Event]) -> Expr {
    let boxed = |expr| Box::new(expr);
    match lots.below(if size < 2 { 3 } else { 12 }) {
        0 if lots.below(4) == 0 => Expr::Nothing,
        0..=2 => Expr::Event(events[lots.below(events.len())].clone()),
        3..=5 => {
            let cut = 1 + lots.below(size - 1);
            Expr::Seq(vec![expr(lots, cut, events), expr(lots, size - cut, events)])
        }
        6 | 7 => {
            let cut = 1 + lots.below(size - 1);
            Expr::Either(vec![expr(lots, cut, events), expr(lots, size - cut, events)])
        }
        8 | 9 => Expr::Plus(boxed(expr(lots, size - 1, events))),
        10 => Expr::Star(boxed(expr(lots, size - 1, events))),
        _ => Expr::Maybe(boxed(expr(lots, size - 1, events))),
    }
    .normal()
}

/// What can be seen of a run in `most` events, and whether that was all and something may follow.
type Words = BTreeSet<(Vec<Event>, bool)>;

/// What a rule means, by its name and whether nothing comes after it.
type Rules<'a> = dyn Fn(&str, bool) -> Words + 'a;

/// All runs of an expression, cut after `most` events: finished ones (`true`), and those that were cut or go
/// on for ever.
pub(crate) fn words(expr: &Expr, at_end: bool, most: usize, rules: &Rules<'_>) -> Words {
    let cut = |mut word: Vec<Event>, finished: bool| {
        let finished = finished && word.len() <= most;
        word.truncate(most);
        (word, finished)
    };
    let after = |before: &Words, next: &Words| -> Words {
        let mut all = Words::new();
        for (word, finished) in before {
            if !finished {
                all.insert((word.clone(), false));
                continue;
            }
            for (more, finished) in next {
                all.insert(cut([word.as_slice(), more].concat(), *finished));
            }
        }
        all
    };
    let repeated = |inner: &Expr| {
        let once = words(inner, false, most, rules);
        let mut all = once.clone();
        loop {
            let more: Words = all.union(&after(&all, &once)).cloned().collect();
            if more == all {
                return all;
            }
            all = more;
        }
    };
    let nothing = Words::from([(Vec::new(), true)]);
    match expr {
        Expr::Nothing => nothing,
        Expr::Event(event) => Words::from([cut(vec![event.clone()], true)]),
        Expr::Rule(name) => rules(name, at_end),
        Expr::Seq(items) => items.iter().enumerate().fold(nothing, |before, (at, item)| {
            after(&before, &words(item, at_end && at + 1 == items.len(), most, rules))
        }),
        Expr::Either(items) => {
            items.iter().flat_map(|item| words(item, at_end, most, rules)).collect()
        }
        // At the end of a type nobody gets out of it.
        Expr::Plus(inner) if at_end => {
            repeated(inner).into_iter().map(|(word, _)| (word, false)).collect()
        }
        Expr::Plus(inner) => repeated(inner),
        Expr::Star(inner) => repeated(inner).union(&nothing).cloned().collect(),
        Expr::Maybe(inner) => words(inner, at_end, most, rules).union(&nothing).cloned().collect(),
    }
}

/// Traces, and those after which the fibre may end.
pub(crate) type Meaning = (BTreeSet<Vec<Event>>, BTreeSet<Vec<Event>>);

fn shown(words: &Words) -> Meaning {
    let prefixes =
        |word: &Vec<Event>| (0..=word.len()).map(|n| word[..n].to_vec()).collect::<Vec<_>>();
    let traces = words.iter().flat_map(|(word, _)| prefixes(word)).collect();
    let ends = words.iter().filter(|(_, finished)| *finished).map(|(word, _)| word.clone());
    (traces, ends.collect())
}

/// What a type shows in at most `most` events.
pub(crate) fn meaning(expr: &Expr, most: usize) -> Meaning {
    let no_rules = |name: &str, _| panic!("<{name}> has no meaning of its own");
    shown(&words(expr, true, most, &no_rules))
}

/// What a grammar shows in at most `most` events. At first nothing is known of any rule, that is only that
/// it has not finished; then what is known is put into the rules until nothing new comes.
pub(crate) fn meaning_of_rules(grammar: &Grammar, most: usize) -> Meaning {
    let unknown = Words::from([(Vec::new(), false)]);
    let mut known: BTreeMap<(&str, bool), Words> = BTreeMap::new();
    loop {
        let mut more = known.clone();
        for (name, expr) in grammar.rules() {
            for at_end in [false, true] {
                let rules =
                    |name: &str, at_end| known.get(&(name, at_end)).unwrap_or(&unknown).clone();
                let words = words(expr, at_end, most, &rules);
                more.insert((name, at_end), words.union(&unknown).cloned().collect());
            }
        }
        if more == known {
            return shown(&known[&(grammar.rules()[0].0.as_str(), true)]);
        }
        known = more;
    }
}
