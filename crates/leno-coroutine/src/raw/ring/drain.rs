//! Ending the members of a ring.

use core::ptr::NonNull;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leno_context::control::{Control, Kind};
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::{State, Status};

use super::Ring;
use crate::raw::exit::{self, Ended};
use crate::raw::migrate::Claim;
use crate::ring::Drained;
use crate::trace;

impl Ring {
    /// Ends all members but the initial one, which calls this, in the order they would have run.
    /// Also returns the first panic of a destructor of what a member had captured that never ran.
    pub(super) fn drain(&self) -> (Drained, Option<Box<dyn Any + Send>>) {
        let (mut drained, mut failed) = (Drained::default(), None);
        let before = self.draining.replace(true);
        while let Some(member) = self.next() {
            match self.end(member) {
                Ended::Gone(payload) => {
                    drained.ended += 1;
                    failed = failed.or(payload);
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
            let drop_it = || {
                // SAFETY: new, out of the queue, not used afterwards.
                unsafe { exit::drop_unstarted(member) }
            };
            let ended = catch_unwind(AssertUnwindSafe(drop_it));
            if let Some(claim) = claim {
                claim.finish();
            }
            return ended.unwrap_or_else(|payload| Ended::Gone(Some(payload)));
        }
        if cfg!(panic = "abort") {
            if self.borrows {
                unwind::give_up(&format!(
                    "a ring's scope ended while its member {} (created at {}) was suspended: with \
                     panic = \"abort\" it cannot be unwound; let it finish first",
                    block.shown(),
                    block.site(),
                ));
            }
            return Ended::CannotUnwind;
        }
        let status = Status::of(block);
        for _ in 0..EXIT_TRIES {
            self.hop(member, code::EXIT);
            if status.is_finished() {
                return Ended::Gone(None);
            }
        }
        if self.borrows {
            unwind::give_up(&exit::refused(block));
        }
        exit::report_refused(block);
        Ended::Refused
    }
}
