//! The usual cases of taking and putting, in few instructions: they say what
//! [`Exchange::take`] and [`Exchange::put`] would, or nothing.
//!
//! They are compiled into every caller, so that a coroutine that parks does so in its own frame. A
//! call in between would be returned from where the processor does not expect it, because another
//! coroutine ran meanwhile.

use leno_kernel::Co;

use super::party::Party;
use super::{Exchange, Side};
use crate::flavour::Flavour;

impl<T> Party<T> {
    /// In no select: then nobody else can have met it.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.coupon.is_none()
    }
}

impl<T, F: Flavour> Exchange<'_, T, F> {
    /// A value, and whom to unpark.
    #[inline(always)]
    pub(crate) fn take_quick(&mut self) -> Option<(T, Option<Co>)> {
        if self.has_returned {
            return None;
        }
        if self.is_drained() {
            let relieve = |party: &mut Party<T>, ()| party.relieve();
            let met = self.guard.settle_only(Side::Blocked as usize, Party::is_plain, (), relieve);
            return met.ok().map(|(value, co)| (value, Some(co)));
        }
        if self.has_nobody(Side::Blocked) && self.has_nobody(Side::Joiners) {
            return self.buffer.pop_front().map(|value| (value, None));
        }
        None
    }

    /// Whom to unpark, or the value.
    #[inline(always)]
    pub(crate) fn put_quick(&mut self, value: T) -> Result<Option<Co>, T> {
        if !self.will_go() {
            return Err(value);
        }
        let order = self.handed;
        let hand = |party: &mut Party<T>, value| party.hand(order, value);
        let value =
            match self.guard.settle_only(Side::Hungry as usize, Party::is_plain, value, hand) {
                Ok(((), co)) => {
                    self.handed = order + 1;
                    return Ok(Some(co));
                }
                Err(value) => value,
            };
        if self.has_nobody(Side::Hungry) && self.has_room() && self.has_nobody(Side::Joiners) {
            self.buffer.push_back(value);
            return Ok(None);
        }
        Err(value)
    }
}
