//! Ending the members of a ring.

use core::ptr::NonNull;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leno_context::control::{Control, Kind};
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::{State, Status};

use super::Ring;
use super::hop::release;
use crate::raw::exit::{self, Ended};
use crate::raw::migrate::Claim;
use crate::raw::shared::member as shared;
use crate::ring::Drained;
use crate::trace;

impl Ring {
    /// Ends all members but the initial one, which calls this, in the order they would have run.
    /// Also returns what is to be raised then: the exit of a coroutine further out that came up
    /// meanwhile, or the first panic of a destructor of what a member had captured.
    pub(super) fn drain(&self) -> (Drained, Option<Box<dyn Any + Send>>) {
        let (mut drained, mut failed) = (Drained::default(), None);
        let before = self.draining.replace(true);
        while let Some(member) = self.next() {
            match self.end(member) {
                Ended::Gone(payload) => {
                    drained.ended += 1;
                    failed = first_to_raise(failed, payload);
                }
                Ended::Refused | Ended::CannotUnwind => drained.leaked += 1,
            }
        }
        self.draining.set(before);
        (drained, failed)
    }

    fn end(&self, member: NonNull<Control>) -> Ended {
        // SAFETY: live: it was in the queue.
        let block = unsafe { member.as_ref() };
        if block.state() == State::New {
            trace::event("drop", block);
            let claim = (block.kind() == Kind::Migrant).then(|| Claim::leave(block));
            // SAFETY: new, out of the queue, not used afterwards.
            let ended = unsafe { exit::drop_unstarted(member, release) };
            if let Some(claim) = claim {
                claim.finish();
            }
            return ended;
        }
        if cfg!(panic = "abort") {
            if self.borrows {
                unwind::give_up(format_args!(
                    "a ring's scope ended while its member {} (created at {}) was suspended: with \
                     panic = \"abort\" it cannot be unwound; let it finish first",
                    block.shown(),
                    block.site(),
                ));
            }
            return Ended::CannotUnwind;
        }
        let status = Status::of(block);
        let mut raised = None;
        for _ in 0..EXIT_TRIES {
            // The exit of a coroutine further out may come up here: it waits until all have ended.
            match catch_unwind(AssertUnwindSafe(|| self.hop(member, code::EXIT))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    return self.give_up(block, &error.to_string(), Ended::CannotUnwind);
                }
                Err(payload) => raised = raised.or(Some(payload)),
            }
            if status.is_finished() {
                return Ended::Gone(raised);
            }
        }
        self.give_up(block, &exit::refused(block), Ended::Refused)
    }

    /// Leaves a member that cannot be ended as it is, for ever.
    fn give_up(&self, block: &Control, why: &str, ended: Ended) -> Ended {
        if self.borrows {
            exit::abort_scope(why);
        }
        eprintln!("leno: {why}; its stack is leaked");
        if block.kind() == Kind::Shared {
            shared::give_up(block);
        }
        self.gave_up.set(true);
        ended
    }
}

/// Of two unwindings the exit of a coroutine further out, else the earlier one.
pub(super) fn first_to_raise(
    earlier: Option<Box<dyn Any + Send>>,
    later: Option<Box<dyn Any + Send>>,
) -> Option<Box<dyn Any + Send>> {
    let is_exit = |payload: &Option<Box<dyn Any + Send>>| {
        payload.as_ref().is_some_and(|payload| unwind::is_exit(&**payload))
    };
    if is_exit(&later) && !is_exit(&earlier) { later } else { earlier.or(later) }
}
