//! Those who wait at one place of a network.

use leno_kernel::{Waiter, user};

/// Whose place in a line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) u64);

/// Those who wait at one place, the first come first. All are woken at once and look again, each in its
/// turn: who is first then is the policy's choice.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<(Key, Waiter)>);

/// Of a socket or network that is gone; a line that is dropped under the lock is empty.
impl Drop for Line {
    fn drop(&mut self) {
        user::discard_all(self.0.drain(..).map(|(_, waiter)| waiter));
    }
}

impl Line {
    /// Stands in line.
    pub(super) fn enlist(&mut self, key: Key, waiter: Waiter) {
        self.0.push((key, waiter));
    }

    /// Stands in line, unless whoever is to be woken does already; then it is given back, to be dropped by
    /// whoever holds no lock.
    pub(super) fn enlist_once(&mut self, key: Key, waiter: Waiter) -> Option<Waiter> {
        if self.0.iter().any(|(_, own)| own.is_same(&waiter)) {
            return Some(waiter);
        }
        self.0.push((key, waiter));
        None
    }

    /// Leaves; what was left is dropped by whoever holds no lock.
    pub(super) fn leave(&mut self, key: Key) -> Option<Waiter> {
        let place = self.0.iter().position(|(own, _)| *own == key)?;
        Some(self.0.remove(place).1)
    }

    /// All of them go on, once the lock is released.
    pub(super) fn wake(&mut self, wakes: &mut Vec<Waiter>) {
        wakes.extend(self.0.drain(..).map(|(_, waiter)| waiter));
    }
}
