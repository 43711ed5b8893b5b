//! Against the plain way: split by what all events lead to, until nothing changes.

use std::collections::BTreeMap;

use super::blocks;
use crate::event::Event;

type Edges = BTreeMap<Event, usize>;

/// Equal keys get equal numbers, in the order in which they come.
fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    keys.map(|key| {
        let new = numbers.len();
        *numbers.entry(key).or_insert(new)
    })
    .collect()
}

fn plain(seen: &[bool], edges: &[Edges]) -> Vec<usize> {
    let mut block = numbered(seen.iter());
    loop {
        let look = |(state, edges): (usize, &Edges)| {
            let after: Vec<_> = edges.iter().map(|(e, &to)| (e.clone(), block[to])).collect();
            (block[state], after)
        };
        let finer = numbered(edges.iter().enumerate().map(look));
        if finer == block {
            return block;
        }
        block = finer;
    }
}

#[test]
fn blocks_are_those_of_the_plain_way() {
    let mut state = 1_u64;
    let mut below = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % bound
    };
    let events = [Event::read(""), Event::write(""), Event::Spawn];
    let mut sizes = [0; 60];
    for _ in 0..150 {
        let count = 1 + below(59);
        let seen: Vec<bool> = (0..count).map(|_| below(8) == 0).collect();
        let holes = below(2) * 6;
        let edges: Vec<Edges> = (0..count)
            .map(|at| {
                let near = |below: &mut dyn FnMut(usize) -> usize| (at + 1 + below(3)) % count;
                let some = events.iter().filter(|_| holes == 0 || below(holes) != 0).cloned();
                let some: Vec<Event> = some.collect();
                some.into_iter().map(|event| (event, near(&mut below))).collect()
            })
            .collect();
        let expected = plain(&seen, &edges);
        let found = blocks(seen, &edges.iter().collect::<Vec<_>>());
        assert_eq!(numbered(found.iter()), expected, "{edges:?}");
        sizes[*expected.iter().max().unwrap()] += 1;
    }
    assert!(sizes.iter().filter(|&&size| size > 0).count() > 20, "of many sizes: {sizes:?}");
}

#[test]
fn a_long_chain_does_not_take_long() {
    let count = 5_000;
    let edges: Vec<Edges> = (0..count)
        .map(|at| (at + 1 < count).then(|| (Event::Spawn, at + 1)).into_iter().collect())
        .collect();
    let found = blocks(vec![(); count], &edges.iter().collect::<Vec<_>>());
    assert_eq!(found.iter().max(), Some(&(count - 1)));
}
