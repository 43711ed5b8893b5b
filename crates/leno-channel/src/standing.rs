//! The guard of a party that stands in line, for callers that park.
//!
//! Between standing in line and looking at the party again its owner runs user code: a clock that is asked
//! when it parks, wakers, the policy. Any of these may panic or raise an exit. The party must not stay in
//! line then: a partner would hand it a value, a lock, a permit or a notification that nobody ever takes.
//!
//! Selects, joins and futures need none: they give up when they are dropped.

use leno_kernel::user;

use crate::channel::Channel;
use crate::exchange::{Key, Side};
use crate::flavour::Flavour;

/// See the module. No lock of the channel's is held when it is dropped.
#[must_use = "dropping it leaves the line"]
pub(crate) struct Standing<'a, T, F: Flavour> {
    channel: &'a Channel<T, F>,
    pub(crate) key: Key,
    side: Side,
}

impl<'a, T, F: Flavour> Standing<'a, T, F> {
    /// Waits for a value.
    #[inline(always)]
    pub(crate) fn hungry(channel: &'a Channel<T, F>, key: Key) -> Self {
        Standing { channel, key, side: Side::Hungry }
    }

    /// Waits to get rid of a value.
    #[inline(always)]
    pub(crate) fn blocked(channel: &'a Channel<T, F>, key: Key) -> Self {
        Standing { channel, key, side: Side::Blocked }
    }

    /// Ends the guard: the caller takes the slot back.
    #[inline(always)]
    pub(crate) fn into_key(self) -> Key {
        let key = self.key;
        core::mem::forget(self);
        key
    }

    /// Leaves the line. A value that was handed over goes to the next, or to the front; one that was not sent
    /// is dropped.
    #[cold]
    #[inline(never)]
    fn give_up(&self) {
        let mut exchange = self.channel.lock();
        if self.side == Side::Hungry {
            let (left, wakes) = exchange.give_up(self.key);
            drop(exchange);
            wakes.wake();
            user::discard(left);
        } else {
            let (_, left) = exchange.withdraw(Side::Blocked, self.key);
            drop(exchange);
            user::discard(left);
        }
    }
}

impl<T, F: Flavour> Drop for Standing<'_, T, F> {
    fn drop(&mut self) {
        self.give_up();
    }
}
