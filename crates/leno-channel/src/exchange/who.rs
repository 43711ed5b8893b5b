//! Who waits: choosing among them, and naming them.

use leno_kernel::policy::{Candidate, Choice, ChoiceKind};
use leno_kernel::{Co, Object, Waiter};

use super::{Coupon, Exchange, Key, Party, Side};
use crate::flavour::Flavour;
use crate::select::ticket::Ticket;

/// Someone who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Who {
    /// A coroutine of a system.
    Co(Co),
    /// A thread.
    Thread,
    /// A future that is not known by its coroutine.
    Future,
}

/// A choice between some who wait.
#[derive(PartialEq, Eq)]
pub(crate) struct Question {
    object: Object,
    keys: Vec<Key>,
    candidates: Vec<Candidate>,
}

impl Question {
    /// Asks the policy, which is code of a user: nothing is locked.
    pub(crate) fn ask(&self) -> Key {
        let choice = Choice::new(ChoiceKind::Waiter, Some(self.object), &self.candidates);
        let (place, of) = (leno_kernel::layer::choose(&choice), self.keys.len());
        *self.keys.get(place).unwrap_or_else(|| panic!("a policy chose number {place} of {of}"))
    }
}

impl Who {
    fn of(waiter: Option<&Waiter>) -> Option<Who> {
        waiter.map(|waiter| match waiter {
            Waiter::Co(co) => Who::Co(*co),
            Waiter::Thread(_) => Who::Thread,
            Waiter::Waker(_) => Who::Future,
        })
    }
}

impl<T> Party<T> {
    /// Whether it was not met elsewhere, and is not of one's own select.
    fn waits(&self, own: Option<&Ticket>) -> bool {
        self.coupon.as_ref().is_none_or(|coupon| {
            !coupon.ticket.is_done() && own.is_none_or(|own| !core::ptr::eq(&*coupon.ticket, own))
        })
    }

    /// Whether it can be met now: it also does not ask a source, and has looked since it was passed over for that.
    pub(super) fn can_meet(&self, own: Option<&Ticket>) -> bool {
        let is_asking = |coupon: &Coupon| coupon.ticket.is_asking();
        self.waits(own) && !self.is_passed.get() && !self.coupon.as_ref().is_some_and(is_asking)
    }

    /// The same; if it asks a source it is passed over from now on, and told.
    pub(super) fn can_meet_or_is_passed(&self, own: Option<&Ticket>) -> bool {
        if !self.waits(own) || self.is_passed.get() {
            return false;
        }
        self.is_passed.set(self.coupon.as_ref().is_some_and(|coupon| coupon.ticket.note()));
        !self.is_passed.get()
    }
}

impl<T, F: Flavour> Exchange<'_, T, F> {
    /// Whom to meet: the first in line, or the one that the policy chooses. Not one's own select.
    #[inline(always)]
    pub(super) fn pick(&self, side: Side, own: Option<&Ticket>) -> Option<Key> {
        if self.has_several(side) || own.is_some() {
            return self.choose(side, own);
        }
        let first = self.guard.first(side as usize)?;
        (!first.payload.is_passed.get()).then_some(first.key)
    }

    /// Whether two or more are in a line.
    #[inline(always)]
    pub(crate) fn has_several(&self, side: Side) -> bool {
        self.guard.has_several(side as usize)
    }

    /// Whom the policy has chosen just before, if it can still be met; else the first who can.
    fn choose(&self, side: Side, own: Option<&Ticket>) -> Option<Key> {
        let mut free = self.guard.iter(side as usize).filter(|one| one.payload.can_meet(own));
        let first = free.next()?.key;
        match self.chosen.take() {
            Some(chosen) if chosen != first && free.any(|one| one.key == chosen) => Some(chosen),
            _ => Some(first),
        }
    }

    /// Those of a line between whom a policy chooses, if that has a say: two or more.
    #[cold]
    pub(crate) fn question(&self, side: Side, own: Option<&Ticket>) -> Option<Question> {
        // What was given back comes first, and then nobody is met.
        if side == Side::Blocked && self.has_returned {
            return None;
        }
        let line = self.guard.iter(side as usize).filter(|one| one.payload.can_meet(own));
        let (keys, candidates): (Vec<_>, Vec<_>) = line
            .zip(0..)
            .map(|(one, place)| match Who::of(one.waiter) {
                Some(Who::Co(co)) => (one.key, Candidate::Co(co)),
                _ => (one.key, Candidate::Other(place)),
            })
            .unzip();
        (keys.len() > 1).then_some(Question { object: self.object, keys, candidates })
    }

    /// Whom the policy has chosen, for one who locks again.
    pub(crate) fn preferred(&self) -> Option<Key> {
        self.chosen.take()
    }

    /// Notes whom the policy has chosen, for who meets next under the same lock.
    pub(crate) fn prefer(&self, chosen: Option<Key>) {
        self.chosen.set(chosen);
    }

    /// How many stand in a line.
    pub(crate) fn count(&self, side: Side) -> usize {
        self.guard.iter(side as usize).count()
    }

    /// Who stands in a line, the first come first.
    pub(crate) fn waiting(&self, side: Side) -> Vec<Who> {
        let line = self.guard.iter(side as usize).filter(|one| one.payload.waits(None));
        line.filter_map(|one| Who::of(one.waiter)).collect()
    }

    /// Whether someone in a line can be met; else those who cannot because they ask a source are passed over.
    pub(super) fn can_meet_or_passes(&self, side: Side, own: Option<&Ticket>) -> bool {
        self.guard.iter(side as usize).any(|one| one.payload.can_meet_or_is_passed(own))
    }

    /// Whether someone stands in a line who can still be met, other than this select.
    pub(crate) fn is_awaited(&self, side: Side, own: Option<&Ticket>) -> bool {
        self.guard.iter(side as usize).any(|one| one.payload.can_meet(own))
    }
}
