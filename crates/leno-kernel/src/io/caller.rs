//! Who uses a descriptor, and which reactor watches for it.

use std::io;
use std::sync::Arc;

use super::beacon::Watcher;
use super::helper;
use super::reactor::Inner;
use crate::core::Core;
use crate::raw::entered::{self, Here};
use crate::{Platform, world};

/// Who uses a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// A plain thread, or a future that another executor polls.
    Thread,
    /// A coroutine, with a stack or without.
    Co,
}

/// Who calls, if it may use descriptors: the platform gives a reactor.
#[inline]
pub(super) fn permit() -> io::Result<Caller> {
    world::refuse_io()?;
    loop {
        let found = entered::here(|here| match core_of(here) {
            None => Ok(Caller::Thread),
            Some(core) if core.attention.is_on() => Ok(Caller::Co),
            Some(core) => Err(core.clock.platform().clone()),
        });
        match found {
            Ok(caller) => return Ok(caller),
            Err(platform) => begin(&*platform)?,
        }
    }
}

/// Who watches for whoever calls.
pub(super) fn reactor() -> io::Result<(Watcher, Arc<Inner>)> {
    loop {
        let found = entered::here(|here| match core_of(here) {
            None => Ok(None),
            Some(core) => {
                core.attention.reactor().map(Some).ok_or_else(|| core.clock.platform().clone())
            }
        });
        match found {
            Ok(None) => return Ok((Watcher::Helper, helper::reactor()?)),
            Ok(Some(reactor)) => return Ok((Watcher::Core, reactor)),
            Err(platform) => begin(&*platform)?,
        }
    }
}

fn core_of<'a>(here: Here<'a>) -> Option<&'a Core> {
    match here {
        Here::Thread | Here::Virtual(_) => None,
        Here::Stack(inside) => Some(inside.core),
        Here::Future(core, _) => Some(core),
    }
}

/// Has the platform make a reactor for the core that runs the calling code. It is code of a user, so nothing
/// refers to the core meanwhile.
#[cold]
fn begin(platform: &dyn Platform) -> io::Result<()> {
    let reactor = platform.reactor()?;
    entered::here(|here| {
        if let Some(core) = core_of(here) {
            core.attention.begin(core, reactor);
        }
    });
    Ok(())
}
