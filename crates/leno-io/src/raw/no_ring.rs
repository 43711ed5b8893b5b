//! In place of the ring where it is left out: there is none, so nobody can use one.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use leno_kernel::Time;

use crate::fs::action::{Action, OwnedAction};
use crate::fs::buffer::Buffer;

/// There is none.
pub(crate) enum Ring {}

pub(crate) fn is_available() -> bool {
    false
}

pub(crate) fn current() -> Option<Arc<Ring>> {
    None
}

pub(crate) fn perform(
    ring: &Arc<Ring>,
    _: BorrowedFd<'_>,
    _: Action<'_, '_>,
    _: Option<Time>,
) -> io::Result<usize> {
    match **ring {}
}

pub(crate) async fn perform_owned(
    ring: &Arc<Ring>,
    _: Arc<File>,
    _: OwnedAction,
) -> (io::Result<usize>, Buffer) {
    match **ring {}
}
