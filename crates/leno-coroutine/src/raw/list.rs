//! Looking at the live coroutines of this thread.
//!
//! Claim: the blocks that `control::of_this_thread` gives are live while no coroutine of this
//! thread runs or ends, that is, within each function here.

use std::backtrace::Backtrace;

use leno_context::control::{self, Control, Kind};
use leno_context::{State, Status};

use super::floor;
use crate::list::Info;

/// Calls `f` with the block of every live coroutine of this thread. One that never ran counts as finished
/// while its body is dropped.
fn for_each(mut f: impl FnMut(&Control)) {
    let mut if_live = |block: &Control| {
        if block.state() != State::Finished {
            f(block);
        }
    };
    for block in control::of_this_thread() {
        // SAFETY: live, as long as nobody runs.
        let block = unsafe { block.as_ref() };
        match block.kind() {
            Kind::Home => super::shared::Home::for_each(block, &mut if_live),
            _ => if_live(block),
        }
    }
}

/// All live coroutines of this thread, oldest first.
pub(crate) fn coroutines() -> Vec<Info> {
    let mut all = Vec::new();
    for_each(|block| {
        all.push(Info {
            id: block.id(),
            name: block.name().clone(),
            state: block.state(),
            is_member: matches!(block.kind(), Kind::Member | Kind::Shared),
            site: block.site(),
            stack_size: block.stack().map_or(0, |stack| stack.size().bytes()),
            status: Status::of(block),
        });
    });
    all.sort_by_key(|info| info.id);
    all
}

/// Turns tracing on or off for all live coroutines of this thread.
pub(crate) fn watch_all(on: bool) {
    for_each(|block| block.watch(on));
}

/// A backtrace of a suspended coroutine of this thread, captured by itself on its own stack.
pub(crate) fn backtrace(status: Status) -> Option<Backtrace> {
    let control = status.control()?;
    let ours = || control::of_this_thread().contains(&control);
    if status.state() != State::Suspended || !ours() {
        return None;
    }
    // SAFETY: live, and of this thread, so nobody else changes that.
    let block = unsafe { control.as_ref() };
    // SAFETY: as above.
    unsafe { floor::backtrace(block) }
}
