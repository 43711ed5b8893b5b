//! Which states of an automaton lead to each other.

use crate::automaton::Automaton;

/// The strongly connected component of each state; edges between two lead to the lower number.
pub(super) fn components(automaton: &Automaton) -> Vec<usize> {
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
