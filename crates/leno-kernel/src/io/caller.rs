//! Who uses a descriptor, and which reactor watches for it.

use std::io;
use std::sync::Arc;

use super::beacon::Watcher;
use super::helper;
use super::reactor::Inner;
use crate::raw::entered::{self, Here};
use crate::world;

/// Who uses a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// A plain thread, or a future that another executor polls.
    Thread,
    /// A coroutine, with a stack or without.
    Co,
}

/// Who calls, if it may use descriptors.
pub(super) fn permit() -> io::Result<Caller> {
    world::refuse_io()?;
    entered::here(|here| {
        let core = match here {
            Here::Thread | Here::Virtual(_) => return Ok(Caller::Thread),
            Here::Stack(inside) => inside.core,
            Here::Future(core, _) => core,
        };
        core.attention.permit(core)?;
        Ok(Caller::Co)
    })
}

/// Who watches for whoever calls.
pub(super) fn reactor() -> io::Result<(Watcher, Arc<Inner>)> {
    entered::here(|here| {
        let core = match here {
            Here::Thread | Here::Virtual(_) => return Ok((Watcher::Helper, helper::reactor()?)),
            Here::Stack(inside) => inside.core,
            Here::Future(core, _) => core,
        };
        Ok((Watcher::Core, core.attention.reactor(core)?))
    })
}
