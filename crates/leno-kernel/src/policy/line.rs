//! A queue of coroutines with two ends, from which they can also be forgotten.
//!
//! Invariant: the first entry is not dead. So an empty line has nobody, and the first is known.

use std::collections::VecDeque;

use super::tombstones::Tombstones;
use crate::Co;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// With their stamps.
    entries: VecDeque<(Co, u64)>,
    tombstones: Tombstones,
}

impl Line {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Last of all.
    #[inline]
    pub(super) fn push_back(&mut self, co: Co) {
        let stamp = self.tombstones.stamp();
        self.entries.push_back((co, stamp));
    }

    /// Before all others.
    #[inline]
    pub(super) fn push_front(&mut self, co: Co) {
        let stamp = self.tombstones.stamp();
        self.entries.push_front((co, stamp));
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<Co> {
        let (co, _) = self.entries.pop_front()?;
        if !self.tombstones.is_empty() {
            self.uncover();
        }
        Some(co)
    }

    /// Who comes after `ahead` others.
    #[inline]
    pub(super) fn get(&self, ahead: usize) -> Option<Co> {
        let entry = if self.tombstones.is_empty() {
            self.entries.get(ahead)
        } else {
            self.entries
                .iter()
                .filter(|&&(co, stamp)| self.tombstones.is_live(co, stamp))
                .nth(ahead)
        };
        entry.map(|&(co, _)| co)
    }

    /// Nothing happens if it is not here.
    pub(super) fn forget(&mut self, co: Co) {
        self.tombstones.bury(co);
        if self.tombstones.are_many(self.entries.len()) {
            self.entries.retain(|&(co, stamp)| self.tombstones.is_live(co, stamp));
            self.tombstones.clear();
        } else {
            self.uncover();
        }
    }

    /// Takes the dead from the front.
    fn uncover(&mut self) {
        while let Some(&(co, stamp)) = self.entries.front() {
            if self.tombstones.is_live(co, stamp) {
                return;
            }
            self.entries.pop_front();
        }
        self.tombstones.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::co;
    use super::*;

    #[test]
    fn the_dead_are_thrown_out_before_they_are_many() {
        let mut line = Line::default();
        (0..1000).for_each(|n| line.push_back(co(n)));
        for n in 1..999 {
            line.forget(co(n));
            let live = 1000 - n as usize;
            assert!(line.entries.len() <= 2 * live + 1, "{live} of {}", line.entries.len());
        }
        assert_eq!((line.get(0), line.get(1), line.get(2)), (Some(co(0)), Some(co(999)), None));
    }

    #[test]
    fn nothing_is_left_of_those_who_were_forgotten_without_being_here() {
        let mut line = Line::default();
        line.push_back(co(1));
        (2..1000).for_each(|n| line.forget(co(n)));
        assert_eq!((line.pop_front(), line.pop_front()), (Some(co(1)), None));
        assert!(line.tombstones.is_empty());
    }
}
