//! What a body rewinds by: the frame it was stored in, until it has reached its suspension.

use crate::error::RestoreError;
use crate::image::stored::StoredFrame;
use crate::persist::Persist;

/// Where a body is to go on; nowhere if it runs for the first time, or has arrived.
#[doc(hidden)]
pub struct Rewind(Option<Box<StoredFrame>>);

impl Rewind {
    #[inline]
    pub(crate) fn nowhere() -> Self {
        Rewind(None)
    }

    pub(crate) fn to(frame: Box<StoredFrame>) -> Self {
        Rewind(Some(frame))
    }

    /// Whether the suspension is one of these.
    #[inline(always)]
    pub fn within(&self, lo: u32, hi: u32) -> bool {
        match &self.0 {
            None => false,
            Some(frame) => lo <= frame.point() && frame.point() <= hi,
        }
    }

    /// Out of line, so that bodies are not slowed down by what they do only once.
    #[cold]
    #[inline(never)]
    pub fn get<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, RestoreError>,
    ) -> Result<T, RestoreError> {
        read(self)
    }

    /// A local of the frame.
    #[inline(never)]
    pub fn take<T: Persist>(&mut self, variable: u16) -> Result<T, RestoreError> {
        self.0.as_mut().ok_or(RestoreError::NoFrame)?.take(variable)
    }

    /// At the suspension, when all locals were taken.
    #[inline(never)]
    pub fn arrive(&mut self) -> Result<(), RestoreError> {
        self.0.take().ok_or(RestoreError::NoFrame)?.finish()
    }
}
