//! Listening while one stands in line: a coroutine whose core has nothing else to do looks at a bell for
//! some microseconds before it parks.
//!
//! A coroutine that is parked is woken by a message to its core, which goes back into its loop, reads its
//! mail and resumes it: four cache lines that go from one processor to the other, beside the two of the
//! channel. One that listens needs the bell alone, as a thread does.
//!
//! # Protocol
//! Its party stands in line with the bell as its waiter. Whoever meets it takes the waiter, under the lock,
//! and rings. When the time is over, or someone else can run, it changes its waiter to the coroutine, under
//! the lock, unless it was met by then; and parks. So a wake is either a ring, which nobody needs any more
//! once the stage says that it was met, or an unpark. A ring that comes late ends a later listening early.
//!
//! In an exploration the time is a point, and so is the moment before the ring: all of this is run there, in any order.
//!
//! Where partners do not come in that time, because they are on the same core or slow, it would be in vain
//! each time: after some such waits it is tried now and then only.

use std::sync::Arc;

use leno_kernel::layer::bell::Bell;
use leno_kernel::{Co, Reason, Waiter};

use crate::channel::Channel;
use crate::exchange::{Exchange, First};
use crate::flavour::Flavour;
use crate::wait::{Failure, Until, Why};

/// So many times in a row it may be in vain.
const TRIES: u8 = 4;
/// After that it is tried again after so many waits.
const WAITS: u8 = 60;

/// How listening at a channel has gone of late: how often in a row it was in vain.
#[derive(Default)]
pub(crate) struct Luck(u8);

impl Luck {
    /// Whether to try now.
    #[inline(always)]
    fn is_to_be_tried(&mut self) -> bool {
        if self.0 < TRIES {
            return true;
        }
        self.0 += 1;
        if self.0 == TRIES + WAITS {
            self.0 = TRIES - 1;
        }
        false
    }

    #[inline(always)]
    pub(crate) fn learn(&mut self, was_met: bool) {
        self.0 = if was_met { 0 } else { self.0.saturating_add(1) };
    }
}

impl<T, F: Flavour> Channel<T, F> {
    /// Stands in line for a value, where there is none.
    #[inline(never)]
    #[track_caller]
    pub(crate) fn receive_listening<'a>(
        &'a self,
        exchange: Exchange<'a, T, F>,
        co: Co,
        bell: &Arc<Bell>,
        reason: Why,
    ) -> Result<T, Failure> {
        let first = || {
            leno_kernel::layer::listen_at(bell);
            First::LookAs(Waiter::Co(co))
        };
        let waiter = Waiter::Thread(bell.clone());
        self.await_value(exchange, waiter, first, Until::heard(reason))
    }

    /// Stands in line with a value, where it can go nowhere and no join waits.
    #[inline(never)]
    #[track_caller]
    pub(crate) fn send_listening<'a>(
        &'a self,
        exchange: Exchange<'a, T, F>,
        co: Co,
        bell: &Arc<Bell>,
        value: T,
    ) -> Result<(), (Failure, T)> {
        let first = || {
            leno_kernel::layer::listen_at(bell);
            First::LookAs(Waiter::Co(co))
        };
        self.await_room(
            exchange,
            Waiter::Thread(bell.clone()),
            value,
            first,
            Until::heard(Reason::Blocked),
        )
    }
}

impl<T, F: Flavour> Exchange<'_, T, F> {
    /// What a coroutine should listen at before it parks here, if it should.
    #[inline(always)]
    pub(crate) fn bell_to_listen_at(&mut self) -> Option<Arc<Bell>> {
        if self.luck.is_to_be_tried() { leno_kernel::layer::bell_to_listen_at() } else { None }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_vain_is_tried_less_often() {
        let mut luck = Luck::default();
        let tries = |luck: &mut Luck, waits: usize| {
            let tried = (0..waits).filter(|_| {
                let is_tried = luck.is_to_be_tried();
                if is_tried {
                    luck.learn(false);
                }
                is_tried
            });
            tried.count()
        };
        assert_eq!(tries(&mut luck, 4), 4);
        assert!((15..=17).contains(&tries(&mut luck, 1_000)));
        luck.learn(true);
        assert_eq!(tries(&mut luck, 4), 4);
    }
}
