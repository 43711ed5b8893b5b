//! Whom to wake once the lock is released.

use leno_kernel::layer::{unpark_partner, user};
use leno_kernel::{Co, Waiter, unpark};

/// See the module.
#[must_use = "whoever is not woken waits for ever"]
pub(crate) enum Wakes {
    Nobody,
    /// The usual case, kept apart because a number stays in a register.
    Co(Co),
    One(Waiter),
    Many(Vec<Waiter>),
}

impl Wakes {
    /// Wakes one that was met, unless that was done.
    #[inline(always)]
    pub(crate) fn from(waiter: Option<Waiter>) -> Wakes {
        match waiter {
            None => Wakes::Nobody,
            Some(Waiter::Co(co)) => Wakes::Co(co),
            Some(other) => Wakes::One(other),
        }
    }

    /// Wakes them, all of them, whatever a waker does. No lock is held. The calling coroutine does not exit here: what
    /// it has received, or puts back, would be lost.
    #[inline(always)]
    pub(crate) fn wake(self) {
        match self {
            Wakes::Nobody => {}
            Wakes::Co(co) => unpark(co),
            others => others.wake_others(),
        }
    }

    #[inline(never)]
    fn wake_others(self) {
        match self {
            Wakes::Nobody => {}
            Wakes::Co(co) => unpark(co),
            Wakes::One(waiter) => user::without_exit(|| waiter.wake()),
            Wakes::Many(waiters) if leno_kernel::layer::is_planted("close-stops") => {
                waiters.into_iter().for_each(user::wake_unguarded);
            }
            Wakes::Many(waiters) => user::without_exit(|| user::wake_all(waiters)),
        }
    }

    /// As [`Self::wake`], for code that stands in line and has nothing in hand: it may exit here.
    pub(crate) fn wake_in_line(self) {
        match self {
            Wakes::One(waiter) => waiter.wake(),
            Wakes::Many(waiters) => user::wake_all(waiters),
            others => others.wake(),
        }
    }

    /// The same after a rendezvous: the policy says who goes on.
    pub(crate) fn wake_partner(self) {
        match self {
            Wakes::Co(co) => unpark_partner(co),
            others => others.wake(),
        }
    }

    pub(crate) fn add(&mut self, more: Wakes) {
        if let Wakes::Nobody = more {
            return;
        }
        let mut all = core::mem::replace(self, Wakes::Nobody).into_vec();
        all.extend(more.into_vec());
        *self = Wakes::Many(all);
    }

    fn into_vec(self) -> Vec<Waiter> {
        match self {
            Wakes::Nobody => Vec::new(),
            Wakes::Co(co) => vec![Waiter::Co(co)],
            Wakes::One(waiter) => vec![waiter],
            Wakes::Many(waiters) => waiters,
        }
    }
}
