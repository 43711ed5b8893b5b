//! Which states of an automaton cannot be told apart (Hopcroft 1971).
//!
//! States begin in blocks by what can be seen of them at once. Then, again and again, a block splits another
//! one: those of its states that lead into it by some event from those that do not. Of two halves only the
//! smaller one need ever split others, so that a long chain does not take a time that grows with its
//! square.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::event::Event;

/// The block of each state. `seen` is what can be seen at once, `edges` where each event leads.
pub(crate) fn blocks<K: Ord>(seen: Vec<K>, edges: &[&BTreeMap<Event, usize>]) -> Vec<usize> {
    let events: BTreeSet<&Event> = edges.iter().flat_map(|edges| edges.keys()).collect();
    let events: Vec<&Event> = events.into_iter().collect();
    // By state: who leads to it, by which event. There may be many states and many events, but each
    // state has few of both.
    let mut sources: Vec<BTreeMap<usize, Vec<usize>>> = vec![BTreeMap::new(); edges.len()];
    let mut first: BTreeMap<(K, Vec<&Event>), Vec<usize>> = BTreeMap::new();
    for (state, (key, edges)) in seen.into_iter().zip(edges).enumerate() {
        first.entry((key, edges.keys().collect())).or_default().push(state);
        for (event, &to) in *edges {
            let event = events.binary_search(&event).expect("all events are listed");
            sources[to].entry(event).or_default().push(state);
        }
    }
    let mut partition = Partition { members: first.into_values().collect(), block: Vec::new() };
    partition.block = vec![0; edges.len()];
    for (block, members) in partition.members.iter().enumerate() {
        members.iter().for_each(|&state| partition.block[state] = block);
    }
    // The events that lead into some of these states: others split nothing.
    let arriving = |states: &[usize]| -> BTreeSet<usize> {
        states.iter().flat_map(|&state| sources[state].keys().copied()).collect()
    };
    let mut waiting: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (block, members) in partition.members.iter().enumerate() {
        waiting.extend(arriving(members).into_iter().map(|event| (block, event)));
    }
    while let Some((block, event)) = waiting.pop_first() {
        let leading = partition.members[block].iter().filter_map(|&to| sources[to].get(&event));
        let leading: Vec<usize> = leading.flatten().copied().collect();
        for (old, new) in partition.split(&leading) {
            let smaller = if partition.members[new].len() <= partition.members[old].len() {
                new
            } else {
                old
            };
            // Where the whole block waits, both halves do from now on.
            let both: Vec<usize> =
                waiting.range((old, 0)..=(old, usize::MAX)).map(|at| at.1).collect();
            let of_smaller = arriving(&partition.members[smaller]);
            waiting.extend(of_smaller.into_iter().map(|event| (smaller, event)));
            waiting.extend(both.into_iter().map(|event| (new, event)));
        }
    }
    partition.block
}

/// States in blocks.
struct Partition {
    members: Vec<Vec<usize>>,
    /// By state.
    block: Vec<usize>,
}

impl Partition {
    /// Takes these states, each named once, out of those blocks that have others as well: pairs of the old
    /// block and the new one.
    fn split(&mut self, states: &[usize]) -> Vec<(usize, usize)> {
        let mut taken: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &state in states {
            taken.entry(self.block[state]).or_default().push(state);
        }
        let mut pairs = Vec::new();
        for (old, taken) in taken {
            if taken.len() == self.members[old].len() {
                continue;
            }
            let new = self.members.len();
            taken.iter().for_each(|&state| self.block[state] = new);
            let block = &self.block;
            self.members[old].retain(|&state| block[state] == old);
            self.members.push(taken);
            pairs.push((old, new));
        }
        pairs
    }
}
