//! Where code cannot be interrupted.

use core::time::Duration;

use super::{Hook, Interrupts, Unsupported};

/// Makes interruptions possible in this process; here they are not.
///
/// # Errors
/// Always.
pub(super) fn prepare(_: Option<Hook>) -> Result<(), Unsupported> {
    Err(Unsupported::Platform)
}

/// Has the calling thread interrupted after so long.
pub fn arm(_: Duration) {}

/// Has it not interrupted any more.
pub fn disarm() {}

pub(super) fn end(_: &Interrupts) {}

pub(super) fn modes() -> (u32, u16) {
    (0, 0)
}
