//! Ending the members of a ring.
//!
//! Claim: [`Ring::drain`] returns when no member is left, whatever its members, their values and their
//! panics do; nothing unwinds out of it. A member is out of the queue before it is ended, and one that
//! never ran is finished before its body is dropped.

use core::fmt::{self, Display};
use core::ptr::NonNull;

use leno_context::control::{Control, Kind};
use leno_context::last_words;
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::user::{self, Panic};
use leno_context::{State, Status, thread};

use super::Ring;
use super::hop::release;
use crate::raw::exit::{self, Ended};
use crate::raw::floor;
use crate::raw::migrate::Claim;
use crate::raw::shared::member as shared;
use crate::ring::{Drained, RingError};
use crate::trace;

/// Why a member was not ended.
enum Left {
    /// Another thread has taken it meanwhile.
    Taken,
    /// Another member is in the middle of a wait on its stack, and may end before it.
    Occupied,
}

impl Ring {
    /// Ends all members but the initial one, which calls this, in the order they would have run; after the others those whose
    /// shared stack is occupied.
    /// Also returns what is to be raised then: the exit of a coroutine further out that came up
    /// meanwhile, or the first panic of a destructor of what a member had captured.
    pub(super) fn drain(&self) -> (Drained, Option<Panic>) {
        let (mut drained, mut failed) = (Drained::default(), None);
        // How many in a row could not have their turn, because another one waits in frames on their stack.
        let mut refused = 0;
        let may_unwind = !cfg!(panic = "abort") && (self.at_thread_end || !thread::is_ending());
        let before = self.draining.replace(true);
        while let Some(member) = self.next() {
            let is_last_try = refused > self.queue().len();
            match self.end(member, may_unwind, is_last_try) {
                Ok(Ended::Gone(panic)) => {
                    refused = 0;
                    drained.ended += 1;
                    failed = floor::first(failed, panic);
                }
                Ok(Ended::Refused | Ended::CannotUnwind) => drained.leaked += 1,
                Err(Left::Occupied) => {
                    refused += 1;
                    self.queue().push_back(member);
                }
                Err(Left::Taken) => {}
            }
        }
        self.draining.set(before);
        (drained, failed)
    }

    /// Ends a member, unless its stack is occupied. On the last try it gives that one up.
    fn end(
        &self,
        member: NonNull<Control>,
        may_unwind: bool,
        is_last_try: bool,
    ) -> Result<Ended, Left> {
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
            return Ok(ended);
        }
        if !may_unwind {
            return Ok(self.leave_suspended(block));
        }
        let status = Status::of(block);
        let claim = (block.kind() == Kind::Migrant).then(|| Claim::of(block));
        let mut raised = None;
        for tried in 0..EXIT_TRIES {
            // The exit of a coroutine further out may come up here: it waits until all have ended.
            match user::call(|| self.hop(member, code::EXIT)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    if tried == 0 && !is_last_try && matches!(*error, RingError::Occupied { .. }) {
                        return Err(Left::Occupied);
                    }
                    return Ok(self.give_up(block, error, Ended::CannotUnwind));
                }
                Err(panic) => raised = floor::first(raised, Some(panic)),
            }
            if status.is_finished() {
                return Ok(Ended::Gone(raised));
            }
            // A migrant that has been left is offered to other threads.
            if claim.as_ref().is_some_and(|claim| !claim.take_back()) {
                return Err(Left::Taken);
            }
        }
        Ok(self.give_up(block, exit::refused(block), Ended::Refused))
    }

    /// Leaves a suspended member as it is, because it cannot be unwound in this build, or here.
    #[cold]
    fn leave_suspended(&self, block: &Control) -> Ended {
        if self.borrows {
            unwind::give_up(format_args!("{}", exit::cannot_unwind("a ring's scope", block)));
        }
        if cfg!(panic = "abort") {
            return Ended::CannotUnwind;
        }
        let why = fmt::from_fn(|f| {
            write!(
                f,
                "member {} (created at {}) is suspended and cannot be unwound in the destructor of a \
                 thread-local, because it may borrow a thread-local that is gone",
                block.shown(),
                block.site(),
            )
        });
        self.give_up(block, why, Ended::CannotUnwind)
    }

    /// Leaves a member that cannot be ended as it is, for ever.
    fn give_up(&self, block: &Control, why: impl Display, ended: Ended) -> Ended {
        if self.borrows {
            exit::abort_scope(why);
        }
        last_words::say(format_args!("{why}; its stack is leaked"));
        if block.kind() == Kind::Shared {
            shared::give_up(block);
        }
        self.gave_up.set(true);
        ended
    }
}
