//! A team that rests: cores that find nothing to do, and whether any of them ever will.
//!
//! When the last core becomes idle it wakes those who wait for that. They look at every core: idle,
//! with an empty pile, and as many messages read as were sent; at every movable future: neither
//! queued nor polled; and then at all of that once more. If nothing has changed in between, and no
//! core was roused, it was so at one time between the two looks. A movable future whose waker nobody
//! has will never be woken; one whose waker someone has may be, so the team is open.
//!
//! What a core has costs it a look at everyone, so it tells only while someone watches:
//! ```text
//!   whoever begins to watch               a core that rests
//!   B1  watched := true                   T1  if watched: write what there is
//!   B2  if not told: ring its bell        T2  told := whether it has
//!                                         T3  if not told, but watched now: do not sleep
//! ```
//! The race it must win: a core that has told before, and looks at T1 just before B1. Then B2 may see
//! the old `told`, and nobody rings; but T2 is after B2 then, and so T3 sees B1.

use super::Team;
use crate::Waiter;
use crate::queue::{First, Next, Shared, Stage, WaitQueue};
use crate::sync::{
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence,
};
use crate::system::movables::Still;
use crate::{user, world};

/// What a core leaves behind when it rests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// How many coroutines it has.
    pub(crate) live: usize,
    /// Whether one of them may be woken from outside or by time.
    pub(crate) open: bool,
    /// How many messages it has read.
    pub(crate) read: usize,
}

/// Those who wait for the team to become idle, in one line.
pub(crate) type Resting = WaitQueue<Shared, (), (), 1>;

/// Someone waits for quiescence.
pub(crate) struct Watch<'a>(&'a Team);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.watched.fetch_sub(1, SeqCst);
    }
}

/// What an idle team is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is not idle.
    Busy,
    /// Some wait for what may still come: time, I/O, something outside.
    Open,
    /// Nobody can ever run again; so many are left.
    Quiescent { live: usize },
}

impl Team {
    /// A core has found nothing to do: `sleep` is called, unless something has come meanwhile.
    ///
    /// A core that `is_empty` does not sleep while the team stops: whether it may leave depends on what other cores do,
    /// of which it is not told. One that has coroutines is woken when one of them can run.
    pub(crate) fn rest(
        &self,
        own: usize,
        is_empty: bool,
        left: impl FnOnce() -> Left,
        sleep: impl FnOnce(),
    ) {
        let place = &self.places[own];
        // It costs a look at everyone, so only if someone wants to know.
        let watched = self.watched.load(SeqCst) > 0;
        if watched {
            let left = left();
            place.live.store(left.live, Relaxed);
            place.open.store(left.open, Relaxed);
            place.read.store(left.read, Release);
        }
        place.told.store(watched, SeqCst);
        place.idle.store(true, Release);
        // Whoever has roused it by now has counted it already, perhaps down from nothing.
        let idle = self.idle.fetch_add(1, AcqRel).wrapping_add(1);
        fence(SeqCst);
        // Someone may have begun to watch since; who begins after this rings, because it is not told.
        let is_to_tell =
            !watched && self.watched.load(SeqCst) > 0 && !leno_context::is_planted("watch");
        let busy = is_to_tell
            || self.is_stopping() && (is_empty || world::is_ending())
            || place.mailbox.bell.is_rung()
            || self.places.iter().any(|place| place.length.load(Acquire) > 0);
        if !busy {
            if idle == self.places.len() {
                self.wake_waiters();
            }
            sleep();
        }
        self.rouse(place);
    }

    /// Waits until the team next becomes idle, or until `next` says that the wait ends. `next` is called when whoever
    /// makes the team idle from then on wakes `waiter`.
    pub(crate) fn wait_for_rest(&self, waiter: Waiter, next: impl FnMut() -> Next) {
        let (guard, left) =
            self.resting.lock().wait(0, waiter, (), || First::Wait, next, |_, _| ());
        drop(guard);
        user::discard(left);
    }

    /// Lets cores tell what they have when they rest, as long as the result lives.
    pub(crate) fn watch(&self) -> Watch<'_> {
        self.watched.fetch_add(1, SeqCst);
        for place in self.places.iter().filter(|place| !place.told.load(SeqCst)) {
            place.mailbox.bell.ring();
        }
        Watch(self)
    }

    pub(crate) fn wake_waiters(&self) {
        let waiters = self.resting.lock().settle_all(0, Stage::Met);
        user::wake_all(waiters);
    }

    /// What the team is doing; see the module.
    pub(crate) fn look(&self) -> Rest {
        match (self.look_once(), self.look_once()) {
            (Some(first), Some(second)) if first == second => {
                if first.open && first.live > 0 {
                    Rest::Open
                } else {
                    Rest::Quiescent { live: first.live }
                }
            }
            _ => Rest::Busy,
        }
    }

    fn look_once(&self) -> Option<Seen> {
        let mut seen = Seen { roused: self.roused.load(SeqCst), ..Seen::default() };
        for place in &self.places {
            fence(SeqCst);
            let sent = place.mailbox.sent();
            let idle = place.idle.load(Acquire)
                && place.told.load(Acquire)
                && place.length.load(Acquire) == 0;
            if !idle || sent != place.read.load(Acquire) || place.mailbox.bell.is_rung() {
                return None;
            }
            seen.sent += sent;
            seen.live += place.live.load(Relaxed);
            seen.open |= place.open.load(Relaxed);
        }
        let Still { live, open } = self.movables.look()?;
        seen.live += live;
        seen.open |= open;
        Some(seen)
    }
}

/// What a look at a team that rests has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    roused: usize,
    sent: usize,
    live: usize,
    open: bool,
}
