//! Memory for many plates, which nobody has written yet.
//!
//! Claim: a [`Plate`] is atomic numbers and an atomic address, all of which may be zero, and is blank
//! then.

use crate::window::Plate;

/// So many blank plates. Memory that comes zeroed is not gone through.
#[cfg(not(loom))]
pub(crate) fn blank(count: usize) -> Box<[Plate]> {
    let plates = Box::new_zeroed_slice(count);
    // SAFETY: by the claim.
    unsafe { plates.assume_init() }
}

/// The same for loom's atomics, which are more than numbers.
#[cfg(loom)]
pub(crate) fn blank(count: usize) -> Box<[Plate]> {
    (0..count).map(|_| Plate::new()).collect()
}
