//! What a body rewinds by: the number of the suspension it was stored at, until it has reached it.

use crate::image::reader::Reader;
use crate::persist::Persist;

/// Where a body is to go on: a suspension, from 1 on, or nowhere if it runs for the first time or has arrived.
#[doc(hidden)]
pub struct Rewind(pub(crate) u32);

impl Rewind {
    /// Whether the suspension is one of these.
    #[inline(always)]
    pub fn within(&self, lo: u32, hi: u32) -> bool {
        lo <= self.0 && self.0 <= hi
    }
}

/// The frame that a body takes its locals from. What is wrong with it the reader keeps.
#[doc(hidden)]
pub struct Taken<'a> {
    pub(crate) reader: &'a mut Reader,
    pub(crate) arrived: bool,
}

impl Taken<'_> {
    /// A local of the frame. Out of line: one copy for each type, not for each suspension.
    #[inline(never)]
    pub fn take<T: Persist>(&mut self, variable: u16) -> Option<T> {
        if !self.reader.has_room(variable, size_of::<T>()) {
            return None;
        }
        self.reader.take(variable)
    }

    /// At the suspension, when all locals were taken.
    pub fn arrive(&mut self) -> Option<()> {
        self.arrived = true;
        self.reader.arrive()
    }
}
