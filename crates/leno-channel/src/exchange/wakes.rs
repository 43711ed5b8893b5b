//! Whom to wake once the lock is released.

use leno_kernel::Waiter;

/// See the module.
#[must_use = "whoever is not woken waits for ever"]
pub(crate) enum Wakes {
    Nobody,
    One(Waiter),
    Many(Vec<Waiter>),
}

impl Wakes {
    #[inline(always)]
    pub(crate) fn of(waiter: Option<Waiter>) -> Wakes {
        waiter.map_or(Wakes::Nobody, Wakes::One)
    }

    /// Wakes them. No lock is held.
    #[inline(always)]
    pub(crate) fn wake(self) {
        match self {
            Wakes::Nobody => {}
            Wakes::One(waiter) => waiter.wake(),
            Wakes::Many(waiters) => waiters.into_iter().for_each(Waiter::wake),
        }
    }

    pub(crate) fn add(&mut self, more: Wakes) {
        let mut all = core::mem::replace(self, Wakes::Nobody).into_vec();
        all.extend(more.into_vec());
        *self = Wakes::Many(all);
    }

    fn into_vec(self) -> Vec<Waiter> {
        match self {
            Wakes::Nobody => Vec::new(),
            Wakes::One(waiter) => vec![waiter],
            Wakes::Many(waiters) => waiters,
        }
    }
}
