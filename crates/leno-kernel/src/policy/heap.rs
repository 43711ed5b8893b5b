//! A queue of coroutines in order of a key, from which they can also be forgotten.
//!
//! Of equal keys the hinted come first, the latest of them before all; the others follow as they came.
//! Invariant: the first entry is not dead, as in a line.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Hint;
use super::tombstones::Tombstones;
use crate::Co;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Heap<K> {
    entries: BinaryHeap<Reverse<Entry<K>>>,
    tombstones: Tombstones,
}

/// Compared by key and rank; no two have the same rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<K> {
    key: K,
    /// The stamp, below 0 if hinted.
    rank: i64,
    co: Co,
}

impl<K: Ord + Copy> Heap<K> {
    pub(super) fn new() -> Heap<K> {
        Heap { entries: BinaryHeap::new(), tombstones: Tombstones::default() }
    }

    pub(super) fn push(&mut self, key: K, hint: Hint, co: Co) {
        let stamp = self.tombstones.stamp().cast_signed();
        let rank = match hint {
            Hint::Back => stamp,
            Hint::Front | Hint::Next => -stamp,
        };
        self.entries.push(Reverse(Entry { key, rank, co }));
    }

    /// Whoever has the least key.
    pub(super) fn pop(&mut self) -> Option<Co> {
        let Reverse(entry) = self.entries.pop()?;
        if !self.tombstones.is_empty() {
            self.uncover();
        }
        Some(entry.co)
    }

    /// Whoever will be popped.
    pub(super) fn first(&self) -> Option<Co> {
        self.entries.peek().map(|Reverse(entry)| entry.co)
    }

    /// Nothing happens if it is not here.
    pub(super) fn forget(&mut self, co: Co) {
        self.tombstones.bury(co);
        if self.tombstones.are_many(self.entries.len()) {
            self.entries.retain(|Reverse(entry)| is_live(&self.tombstones, entry));
            self.tombstones.clear();
        } else {
            self.uncover();
        }
    }

    /// Takes the dead from the top.
    fn uncover(&mut self) {
        while let Some(Reverse(entry)) = self.entries.peek() {
            if is_live(&self.tombstones, entry) {
                return;
            }
            self.entries.pop();
        }
        self.tombstones.clear();
    }
}

fn is_live<K>(tombstones: &Tombstones, entry: &Entry<K>) -> bool {
    tombstones.is_live(entry.co, entry.rank.unsigned_abs())
}

impl<K: Ord + Copy> Default for Heap<K> {
    fn default() -> Self {
        Heap::new()
    }
}
