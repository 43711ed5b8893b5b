//! The usual cases of taking and putting, in few instructions: they say what
//! [`Exchange::take`] and [`Exchange::put`] would, or nothing.
//!
//! They are compiled into every caller, so that a coroutine that parks does so in its own frame. A
//! call in between would be returned from where the processor does not expect it, because another
//! coroutine ran meanwhile.

use leno_kernel::{Co, Waiter};

use super::Exchange;
use super::parties::{Line, Parties, Party, Stage};

/// Takes the one party of a line out, if it is a coroutine and in no select: then nobody else can
/// have met it, and there is nothing to choose.
#[inline(always)]
fn meet_only<'a, T>(
    parties: &'a mut Parties<T>,
    line: &mut Line,
) -> Option<(&'a mut Party<T>, Co)> {
    let party = parties.only(line)?;
    let (None, Some(Waiter::Co(co))) = (&party.coupon, &party.waiter) else { return None };
    let co = *co;
    core::mem::forget(party.waiter.take());
    party.stage = Stage::Met;
    party.leave_as_only(line);
    Some((party, co))
}

impl<T> Exchange<T> {
    /// A value, and whom to unpark.
    #[inline(always)]
    pub(crate) fn take_quick(&mut self) -> Option<(T, Option<Co>)> {
        if !self.returned.is_empty() {
            return None;
        }
        if self.buffer.is_empty() {
            let (party, co) = meet_only(&mut self.parties, &mut self.blocked)?;
            return party.value.take().map(|value| (value, Some(co)));
        }
        if self.blocked.is_empty() && self.joiners.is_empty() {
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
        if let Some((party, co)) = meet_only(&mut self.parties, &mut self.hungry) {
            party.value = Some(value);
            party.order = self.handed;
            self.handed += 1;
            return Ok(Some(co));
        }
        if self.hungry.is_empty() && self.has_room() && self.joiners.is_empty() {
            self.buffer.push_back(value);
            return Ok(None);
        }
        Err(value)
    }
}
