//! Ring members that may change threads.
//!
//! Claim: as for [`crate::raw::ring`], with "everything is used by one thread" replaced, for the
//! migrant's own block, by "whoever has taken the claim".

use core::panic::Location;
use std::sync::Arc;

use leno_context::control::Kind;
use leno_context::{State, Status};

use super::Claim;
use crate::Builder;
use crate::migrate::StealError;
use crate::raw::ring;
use crate::ring::{Member, SpawnError};

/// A ring member that threads can take from one another; made by [`Builder::spawn_migratable`].
/// Dropping the handle changes nothing: the member belongs to its ring.
#[derive(Clone)]
pub struct Migrant {
    claim: Arc<Claim>,
}

impl Builder {
    /// Adds a member to the current ring that may change threads later. It runs next.
    ///
    /// # Safety
    /// As for [`Builder::migratable`].
    ///
    /// # Errors
    /// When there is no stack of that size, or no ring can be entered here.
    #[track_caller]
    pub unsafe fn spawn_migratable<F>(self, body: F) -> Result<crate::migrate::Member, SpawnError>
    where
        F: FnOnce() + Send + 'static,
    {
        ring::check_here()?;
        let control = ring::create(self, Location::caller(), Kind::Migrant, body)?;
        let claim = Arc::new(Claim::new(control));
        // SAFETY: just made.
        let block = unsafe { control.as_ref() };
        // The block keeps its claim alive until it is released.
        block.extra.set(Arc::into_raw(claim.clone()).cast_mut().cast());
        ring::adopt_here(control)?;
        claim.offer(block);
        Ok(Migrant { claim })
    }
}

impl Migrant {
    /// Takes the member from the ring it is in: from then on it runs on this thread, next in the
    /// current ring.
    ///
    /// `Ok(false)` means that it is busy: running, or its owner was faster. There is no waiting.
    ///
    /// # Errors
    /// When it can never be stolen as it is: it belongs to this thread already, is finished, holds
    /// a lock, or is inside a pinned section; or when there is no ring here to take it to.
    pub fn steal(&self) -> Result<bool, StealError> {
        ring::check_here()?;
        if !self.claim.steal()? {
            return Ok(false);
        }
        ring::adopt_here(self.claim.control)?;
        // SAFETY: ours now.
        self.claim.offer(unsafe { self.claim.control.as_ref() });
        Ok(true)
    }

    /// The member, for [`crate::ring::yield_to`].
    pub fn member(&self) -> Member {
        self.claim.member()
    }

    /// Its id, unique in the process.
    pub fn id(&self) -> u64 {
        self.claim.id()
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.claim.name.as_str()
    }

    /// What it is doing; a moment later it may be doing something else, on another thread.
    pub fn state(&self) -> State {
        self.status().state()
    }

    /// A view of its state that any thread may hold and read.
    pub fn status(&self) -> Status {
        self.claim.status()
    }

    /// Whether it has returned, panicked or exited.
    pub fn is_finished(&self) -> bool {
        self.status().is_finished()
    }
}

impl core::fmt::Debug for Migrant {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "migrate::Member({}[{}])", self.claim.shown(), self.state())
    }
}
