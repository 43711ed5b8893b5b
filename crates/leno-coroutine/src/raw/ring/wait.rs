//! Waiting: giving control away until something has happened.
//!
//! The ring is found anew for every turn: a migrant that waits may go on in another one.

use leno_context::control::Control;
use leno_context::{Status, thread};

use super::Ring;
use super::enter::{here, here_or_enter};
use super::queue::Entry;
use crate::ring::{Member, MemberKind, RingError};

impl Ring {
    /// Gives all others a turn.
    ///
    /// # Errors
    /// When nothing can change by waiting: nobody else is there, or control cannot be given away.
    fn give_turn(&self) -> Result<(), RingError> {
        if !self.can_hop() {
            return Err(RingError::Exiting { from: self.current().shown().to_string() });
        }
        self.check_held()?;
        let ends = self.draining.get();
        let alone = if ends { self.is_initial() } else { self.queue().len() == 0 };
        if alone {
            return Err(RingError::Alone);
        }
        self.yield_now().map_err(|error| *error)
    }

    fn is_initial(&self) -> bool {
        self.current.get() == self.initial
    }

    /// Whether `member`, which had not finished a moment ago, will end if others have their turns.
    fn can_await(&self, member: &Member) -> Result<(), RingError> {
        let name = || member.to_string();
        if member.status == Status::of(self.current()) {
            return Err(RingError::Itself { member: name() });
        }
        if member.kind == MemberKind::Migrant {
            let is_it = |entry: &Entry| {
                entry.as_migrant().is_some_and(|it| it.id() == member.id() && it.is_ours())
            };
            let here = self.queue().iter().any(is_it);
            return here.then_some(()).ok_or_else(|| RingError::OtherThread { member: name() });
        }
        if member.thread != thread::current().number() {
            return Err(RingError::OtherThread { member: name() });
        }
        let Some(control) = member.status.control() else { return Ok(()) };
        // SAFETY: live, and of this thread, so it stays so.
        let block: &Control = unsafe { control.as_ref() };
        if !core::ptr::eq(block.ring.get().cast(), self) {
            return Err(RingError::OtherRing { member: name() });
        }
        if member.kind == MemberKind::Initial {
            return Err(RingError::Initial { member: name() });
        }
        if !self.queue().holds(control) {
            return Err(RingError::GivenUp { member: name() });
        }
        Ok(())
    }
}

/// Gives all other members of the current ring a turn, for code that waits for something.
#[inline]
pub(crate) fn give_turn() -> Result<(), RingError> {
    here_or_enter()?.give_turn()
}

/// Gives control away until all other members have finished.
pub(crate) fn run() -> Result<(), RingError> {
    let ring = match here() {
        Err(RingError::NoRing) => return Ok(()),
        found => found?,
    };
    if !ring.is_initial() {
        return Err(RingError::NotInitial { member: ring.current().shown().to_string() });
    }
    loop {
        match ring.give_turn() {
            Ok(()) => {}
            Err(RingError::Alone) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Gives control away until `member` has finished.
pub(crate) fn join(member: &Member) -> Result<(), RingError> {
    while !member.is_finished() {
        let ring = here_or_enter()?;
        ring.can_await(member)?;
        ring.give_turn()?;
    }
    Ok(())
}
