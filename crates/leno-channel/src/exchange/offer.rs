//! Looking at what could be taken, and taking it later under the same lock: for joins, which take
//! from several exchanges or from none.

use super::{Coupon, Exchange, Key, Side, Wakes};
use crate::flavour::Flavour;
use crate::select::ticket::Ticket;

/// What an exchange has to offer.
#[derive(Debug)]
pub enum Offers {
    /// Any of these, preferably the first; not empty.
    Some(Vec<Offer>),
    /// Nothing now.
    Nothing,
    /// Nothing will ever come.
    Closed,
}

/// Something that can be taken.
#[derive(Clone, Debug)]
pub enum Offer {
    /// The first of the stored values.
    Stored,
    /// The value of a blocked party, of a select if there is a coupon.
    Party(Key, Option<Coupon>),
}

impl Offer {
    /// What must be settled before it is taken.
    pub(crate) fn coupon(&self) -> Option<&Coupon> {
        match self {
            Offer::Party(_, coupon) => coupon.as_ref(),
            Offer::Stored => None,
        }
    }
}

impl<T, F: Flavour> Exchange<'_, T, F> {
    /// What can be taken now, other than from one's own select.
    pub(crate) fn offers(&self, own: Option<&Ticket>) -> Offers {
        if self.len() > 0 {
            return Offers::Some(vec![Offer::Stored]);
        }
        let Some(first) = self.pick(Side::Blocked, own) else {
            return match self.can_meet_or_passes(Side::Blocked, own) {
                true => self.offers(own),
                false if self.will_come() => Offers::Nothing,
                false => Offers::Closed,
            };
        };
        let line = self.guard.iter(Side::Blocked as usize);
        let mut offers: Vec<_> = line
            .filter(|one| one.payload.can_meet_or_is_passed(own))
            .map(|one| (one.key != first, Offer::Party(one.key, one.payload.coupon.clone())))
            .collect();
        offers.sort_by_key(|(is_later, _)| *is_later);
        match offers.is_empty() {
            true => Offers::Nothing,
            false => Offers::Some(offers.into_iter().map(|(_, offer)| offer).collect()),
        }
    }

    /// Takes what was offered under the same lock, and settled since.
    pub(crate) fn accept(&mut self, offer: &Offer) -> (T, Wakes) {
        match offer {
            Offer::Stored => {
                let taken = self.pop_stored();
                self.check();
                taken
            }
            Offer::Party(key, _) => self.relieve(*key),
        }
    }
}
