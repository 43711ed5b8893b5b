//! Waiting for room in a mailbox that has a limit.
//!
//! Room is not handed over: a caller that is woken looks again, and waits again if another one was faster. One that
//! was woken and cannot look, because it is to exit or its wait unwinds, has the next one woken.

use leno_kernel::layer::queue::{First, Left, Stage};
use leno_kernel::layer::{current_stack, park_on};
use leno_kernel::{Reason, Waiter, Wake, exit};

use super::{CALLERS, Locked, Mailbox};
use crate::line::{meet_first, next_after};
use crate::process::Refusal;

impl<M> Mailbox<M> {
    /// Waits until there may be room.
    #[track_caller]
    pub(super) fn wait_for_room(&self) -> Result<(), Refusal> {
        let is_own = current_stack().is_some_and(|co| self.about.is(co));
        if self.refuses || is_own {
            return Err(Refusal::Full);
        }
        // It panics where nobody can wait: before the lock is taken.
        let waiter = Waiter::current();
        let inner = self.lock();
        if inner.is_closed().is_some() || inner.unserved < self.capacity {
            return Ok(());
        }
        let sign = &self.about.sign;
        let mut wake = Wake::Unparked;
        let next = || {
            wake = park_on(Reason::Blocked(sign.object()), sign);
            next_after(wake)
        };
        let (inner, left) =
            inner.wait(CALLERS, waiter, (), || First::Wait, next, leaves_without_room);
        if wake != Wake::Exit {
            drop(inner);
            return Ok(());
        }
        leaves_without_room(inner, left);
        exit();
        Err(Refusal::Exiting)
    }

    /// A call is about to be served: there is room for another.
    #[inline]
    pub(crate) fn serves_one(&self) {
        if self.has_limit() {
            self.makes_room();
        }
    }

    #[inline(never)]
    fn makes_room(&self) {
        let mut inner = self.lock();
        inner.unserved -= 1;
        wake_next(inner);
    }
}

/// A caller waits no longer, and takes no room. If it was woken for some, that is for another one.
#[cold]
fn leaves_without_room<M>(inner: Locked<'_, M>, left: Left<()>) {
    match left.stage {
        Stage::Met => wake_next(inner),
        Stage::Waiting | Stage::Refused => drop(inner),
    }
}

/// Wakes the caller that waits longest.
fn wake_next<M>(mut inner: Locked<'_, M>) {
    let next = meet_first(&mut inner, CALLERS);
    drop(inner);
    if let Some(next) = next {
        next.wake();
    }
}
