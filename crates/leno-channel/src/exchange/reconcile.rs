//! Making up for what was passed over: a select that asks a source cannot be met meanwhile, so whoever would
//! have met it stores its value, stands in the other line, or closes the channel (`select/ticket.rs`).
//!
//! The party of such a select is marked, under the lock, and told by a note. Until its select has looked, at the
//! latest before it parks, everyone passes it over, also when its source has answered: what was stored, and
//! those who came meanwhile, would else be overtaken. When it looks, all those meet who can.

use super::{Exchange, Key, Meeting, Own, Side, Wakes};
use crate::flavour::Flavour;
use crate::select::ticket::Caller;

impl<'c, T, F: Flavour> Exchange<'c, T, F> {
    /// A select whose party may have been passed over looks again: has it meet whom it can, or be told of the
    /// channel's end. Joiners look for themselves at what it offers.
    #[cold]
    pub(crate) fn look_again(&mut self, own: &Own<'c, T, F>) -> Wakes {
        self.guard.payload(own.handle()).is_passed.set(false);
        let mut wakes = Wakes::Nobody;
        while let Some(more) = self.reconcile_one() {
            wakes.add(more);
        }
        if !self.will_come() {
            wakes.add(self.refuse(Side::Hungry));
        }
        if !self.will_go() {
            wakes.add(self.refuse(Side::Blocked));
        }
        wakes.add(self.call_joiners());
        self.check();
        wakes
    }

    fn reconcile_one(&mut self) -> Option<Wakes> {
        if self.len() > 0
            && let Meeting::With(key) = self.meet(Side::Hungry, &Caller)
        {
            return Some(self.hand_stored(key));
        }
        if !self.will_go() {
            return None;
        }
        // What is stored comes before what the blocked have.
        if self.len() == 0 && !self.has_nobody(Side::Blocked) && !self.has_nobody(Side::Hungry) {
            let blocked = self.guard.iter(Side::Blocked as usize);
            let blocked: Vec<Key> = blocked.map(|one| one.key).collect();
            if let Some(wakes) = blocked.into_iter().find_map(|key| self.pair(key)) {
                return Some(wakes);
            }
        }
        let is_relieved = self.has_room() && self.is_awaited(Side::Blocked, None);
        is_relieved.then(|| self.refill())
    }

    /// Gives the first of the stored values to a hungry party that was met.
    pub(super) fn hand_stored(&mut self, key: Key) -> Wakes {
        let order = self.next_order();
        let (value, mut wakes) = self.pop_stored();
        wakes.add(self.hand(key, order, value));
        wakes
    }

    /// Has a blocked party meet someone who is hungry, if both can be met.
    fn pair(&mut self, key: Key) -> Option<Wakes> {
        let hungry = loop {
            let party = self.guard.get(Side::Blocked as usize, key)?.payload;
            if !party.can_meet_or_is_passed(None) {
                return None;
            }
            let meeting = match party.coupon.clone() {
                None => self.meet(Side::Hungry, &Caller),
                Some(coupon) => self.meet(Side::Hungry, &coupon),
            };
            match meeting {
                Meeting::With(hungry) => break hungry,
                Meeting::Nobody => return None,
                // It asks since a moment, or was met elsewhere.
                Meeting::Busy => {}
            }
        };
        let (value, mut wakes) = self.relieve(key);
        let order = self.handed;
        self.handed += 1;
        wakes.add(self.hand(hungry, order, value));
        Some(wakes)
    }
}
