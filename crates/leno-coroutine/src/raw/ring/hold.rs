//! Keeping a ring's current member current; see [`crate::raw::chain::hold`].

use core::ptr::NonNull;

use leno_context::control::{Control, Hidden};

use super::Ring;
use super::enter::here_or_own;
use crate::ring::RingError;

impl Ring {
    /// # Errors
    /// When its current member is held, and there is another one to hop to.
    pub(super) fn check_held(&self) -> Result<(), RingError> {
        let has_others = || self.draining.get() || self.queue().len() > 0;
        if self.held.get() > 0 && has_others() {
            return Err(RingError::Held { member: self.current().shown().to_string() });
        }
        Ok(())
    }
}

/// The ring of the calling code, held as long as this lives.
pub(in crate::raw) struct Held {
    ring: &'static Ring,
    member: NonNull<Control>,
    /// So that a hop does not find the ring without looking.
    hidden: Option<Hidden>,
}

/// Holds the ring that the calling code, which `control` runs, is in, if any. A plain thread (null) enters its
/// own now: code that runs meanwhile might.
pub(in crate::raw) fn hold(control: *mut Control) -> Option<Held> {
    let ring = here_or_own(control)?;
    ring.held.set(ring.held.get() + 1);
    let hidden = Some(ring.current().hide());
    Some(Held { ring, member: ring.current.get(), hidden })
}

impl Drop for Held {
    fn drop(&mut self) {
        debug_assert_eq!(
            self.ring.current.get(),
            self.member,
            "a member that is held has not hopped"
        );
        self.ring.held.set(self.ring.held.get() - 1);
        if let Some(hidden) = self.hidden.take() {
            self.ring.current().show(hidden);
        }
    }
}
