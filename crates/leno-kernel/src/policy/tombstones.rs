//! Who was forgotten while waiting in a queue.
//!
//! Finding a coroutine in a queue takes long, so a forgotten one stays there and is passed over when
//! its turn comes. To know it from one that was made ready again since, every entry carries a *stamp*,
//! counted up; forgetting says that the coroutine's entries up to now are dead.
//!
//! While nobody was forgotten, and for entries newer than the last forgetting, this is one comparison.
//! A queue throws out its dead once they may be more than half of it, so they cost a constant each.

use std::collections::HashMap;

use crate::Co;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Tombstones {
    last_stamp: u64,
    /// Entries of these coroutines up to this stamp are dead.
    dead: HashMap<Co, u64>,
    /// The greatest of those stamps; 0 if there are none.
    newest: u64,
}

impl Tombstones {
    /// For a new entry; greater than any before.
    #[inline(always)]
    pub(super) fn stamp(&mut self) -> u64 {
        self.last_stamp += 1;
        self.last_stamp
    }

    /// The entries that there are of this coroutine are dead.
    pub(super) fn bury(&mut self, co: Co) {
        self.dead.insert(co, self.last_stamp);
        self.newest = self.last_stamp;
    }

    /// Whether this entry is not dead.
    #[inline(always)]
    pub(super) fn is_live(&self, co: Co, stamp: u64) -> bool {
        stamp > self.newest || self.dead.get(&co).is_none_or(|&dead| stamp > dead)
    }

    /// Whether nobody is dead.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.newest == 0
    }

    /// Whether it pays to throw the dead out of a queue of this length.
    pub(super) fn are_many(&self, len: usize) -> bool {
        self.dead.len() * 2 > len
    }

    /// The queue contains no dead any more.
    pub(super) fn clear(&mut self) {
        self.dead.clear();
        self.newest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::co;
    use super::*;

    #[test]
    fn only_what_was_there_before_is_dead() {
        let mut tombstones = Tombstones::default();
        let [first, second] = [tombstones.stamp(), tombstones.stamp()];
        tombstones.bury(co(1));
        let third = tombstones.stamp();
        let live = |tombstones: &Tombstones, n| {
            [first, second, third].map(|stamp| tombstones.is_live(co(n), stamp))
        };
        assert_eq!(live(&tombstones, 1), [false, false, true]);
        assert_eq!(live(&tombstones, 2), [true; 3]);
        tombstones.bury(co(1));
        assert_eq!(live(&tombstones, 1), [false; 3]);
        tombstones.clear();
        assert_eq!(live(&tombstones, 1), [true; 3]);
    }
}
