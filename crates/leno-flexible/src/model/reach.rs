//! Everything that can happen to a small program.

use std::collections::{BTreeMap, HashSet};

use super::{Configuration, Effect, Freedom, Program, Step};
use crate::Rule;

/// What can be reached from the beginning of a program.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Every configuration.
    pub all: HashSet<Configuration>,
    /// Those in which nothing can happen any more.
    pub ends: Vec<Configuration>,
    /// How many transitions there are by each rule.
    pub rules: BTreeMap<Rule, u64>,
}

/// Everything that can happen to a program; `None` if there are more than `limit` configurations.
///
/// # Panics
/// When one of them does not [check](Configuration::check).
pub fn reach(program: &Program, freedom: Freedom, limit: usize) -> Option<Reached> {
    let mut reached = Reached::default();
    let mut todo = vec![program.begin()];
    reached.all.insert(program.begin());
    while let Some(before) = todo.pop() {
        let steps = before.steps(program, freedom);
        if steps.is_empty() {
            reached.ends.push(before.clone());
        }
        for step in steps {
            let after = reached.count(program, &before, step);
            if reached.all.len() >= limit {
                return None;
            }
            if reached.all.insert(after.clone()) {
                let wrong = after.check();
                assert!(wrong.is_empty(), "{wrong:?} after {step:?} in {before:?}");
                todo.push(after);
            }
        }
    }
    Some(reached)
}

impl Reached {
    fn count(&mut self, program: &Program, before: &Configuration, step: Step) -> Configuration {
        let mut after = before.clone();
        if let Effect::Applied(rule) = after.take(program, step) {
            *self.rules.entry(rule).or_default() += 1;
        }
        after
    }
}
