//! Who waits: choosing among them, and naming them.

use leno_kernel::policy::{Candidate, Choice, ChoiceKind};
use leno_kernel::{Co, Waiter};

use super::parties::{Key, Line, Party};
use super::{Exchange, Side};
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

impl Who {
    fn of<T>(party: &Party<T>) -> Option<Who> {
        party.waiter.as_ref().map(|waiter| match waiter {
            Waiter::Co(co) => Who::Co(*co),
            Waiter::Thread(_) => Who::Thread,
            Waiter::Waker(_) => Who::Future,
        })
    }
}

impl<T> Party<T> {
    /// Whether it was not met elsewhere, and is not of one's own select.
    pub(super) fn can_meet(&self, own: Option<&Ticket>) -> bool {
        self.coupon.as_ref().is_none_or(|coupon| {
            !coupon.ticket.is_done() && own.is_none_or(|own| !core::ptr::eq(&*coupon.ticket, own))
        })
    }
}

impl<T> Exchange<T> {
    /// Whom to meet: the first in line, or whomever the policy chooses. Not one's own select.
    #[inline(always)]
    pub(super) fn pick(&self, side: Side, own: Option<&Ticket>) -> Option<Key> {
        let line = self.line(side);
        if line.has_several() || own.is_some() {
            return self.choose(line, own);
        }
        self.parties.first(line)
    }

    pub(super) fn line(&self, side: Side) -> &Line {
        match side {
            Side::Hungry => &self.hungry,
            Side::Blocked => &self.blocked,
            Side::Joiners => &self.joiners,
        }
    }

    fn choose(&self, line: &Line, own: Option<&Ticket>) -> Option<Key> {
        let mut free = self.parties.iter(line).filter(|(_, party)| party.can_meet(own));
        if !leno_kernel::has_policy() {
            return free.next().map(|(key, _)| key);
        }
        let free: Vec<_> = free.collect();
        if free.len() < 2 {
            return free.first().map(|(key, _)| *key);
        }
        let candidates: Vec<_> = free
            .iter()
            .zip(0..)
            .map(|((_, party), place)| match Who::of(party) {
                Some(Who::Co(co)) => Candidate::Co(co),
                _ => Candidate::Other(place),
            })
            .collect();
        let choice = Choice::new(ChoiceKind::Waiter, Some(self.object), &candidates);
        Some(free[leno_kernel::choose(&choice)].0)
    }

    /// Who stands in a line, the first come first.
    pub(crate) fn waiting(&self, side: Side) -> Vec<Who> {
        self.parties
            .iter(self.line(side))
            .filter(|(_, party)| party.can_meet(None))
            .filter_map(|(_, party)| Who::of(party))
            .collect()
    }

    /// Whether someone stands in a line who can still be met, other than this select.
    pub(crate) fn is_awaited(&self, side: Side, own: Option<&Ticket>) -> bool {
        self.parties.iter(self.line(side)).any(|(_, party)| party.can_meet(own))
    }
}
