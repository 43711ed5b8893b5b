//! The world that a thread runs.
//!
//! Claim: a world in its thread's slot is alive, because whoever entered it borrows it until it has
//! left. The calling code runs inside the coroutine that the world's core says it runs only if that is on the
//! chain of resumers: a thread of the world may have suspended a coroutine around the world's loop.

use leno_context::control::{self, Control};
use leno_context::thread::{self, Slot};
use leno_coroutine::floor;

use super::entered::{Inside, Running};
use crate::core::Core;
use crate::world::World;

/// Where the thread keeps its world.
fn own_slot() -> &'static core::cell::Cell<*mut ()> {
    // SAFETY: it holds null or a world, put there and taken out by this module; nobody keeps it.
    unsafe { thread::current().slot(Slot::World) }
}

/// Makes a world the thread's own for as long as `f` runs.
///
/// # Panics
/// When the thread runs a world already.
pub(crate) fn enter<R>(world: &World, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            own_slot().set(core::ptr::null_mut());
        }
    }
    let slot = own_slot();
    assert!(slot.get().is_null(), "a world cannot be explored inside another one");
    slot.set((&raw const *world).cast_mut().cast());
    let _leave = Leave;
    f()
}

/// Calls `f` with the world of this thread, if there is one.
pub(crate) fn with<R>(f: impl FnOnce(&World) -> R) -> Option<R> {
    let world = own_slot().get().cast_const().cast::<World>();
    // SAFETY: whatever is in the slot is alive.
    unsafe { world.as_ref() }.map(f)
}

/// Calls `f` with the core of this thread's world, if it has this number.
#[cold]
pub(crate) fn with_core<R>(number: u32, f: impl FnOnce(&Core) -> R) -> Option<R> {
    with(|world| (world.core.number() == number).then(|| f(&world.core))).flatten()
}

/// The world's running thread, if it is the coroutine of `control`.
pub(super) fn running<'a>(control: *mut Control) -> Option<Inside<'a>> {
    let world = own_slot().get().cast_const().cast::<World>();
    // SAFETY: whatever is in the slot is alive, and stays so while its coroutine runs.
    let core: &'a Core = &unsafe { world.as_ref() }?.core;
    match core.entry.running.get() {
        Running::Stack(own, co, task) if own.as_ptr() == control => {
            // SAFETY: a core's slots neither move nor go.
            let task = unsafe { task.as_ref() };
            Some(Inside { core, co, task, control: own })
        }
        _ => None,
    }
}

/// Calls `f` with the thread of the world that runs the calling code, at whatever depth. Not with one that has
/// suspended a coroutine around its world: then the calling code is outside.
pub(crate) fn with_running<R>(f: impl FnOnce(&Inside<'_>) -> R) -> Option<R> {
    let mut around = control::current();
    loop {
        if let Some(inside) = running(around) {
            return Some(f(&inside));
        }
        // SAFETY: on the chain of the running code, so it is live.
        let block = unsafe { around.as_ref() }?;
        // SAFETY: as above.
        around = unsafe { floor::around(block) };
    }
}
