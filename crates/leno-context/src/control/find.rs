//! Finding control blocks: by the stack an address is on, and by thread.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use super::{Control, Kind, block_of};
use crate::stack::{self, Stack};
use crate::switch;
use crate::thread;

/// The control block of the coroutine that is running, by the stack it runs on; null on a plain
/// thread (or on a stack that is not leno's).
pub fn current() -> *mut Control {
    #[cfg(leno_baton)]
    return switch::own_control();
    #[cfg(not(leno_baton))]
    // SAFETY: on the stack that runs.
    unsafe {
        owner_of(switch::stack_pointer())
    }
}

/// The control block of the coroutine whose stack `address` is on; null if none.
///
/// # Safety
/// If it is a stack of leno's, then one in use by this thread.
pub unsafe fn owner_of(address: usize) -> *mut Control {
    let Some(block) = block_at(address) else { return core::ptr::null_mut() };
    // SAFETY: live.
    let control = unsafe { block.as_ref() };
    if control.kind() == Kind::Home { control.extra.get().cast() } else { block.as_ptr() }
}

/// Whoever has resumed the coroutine of `control`, which is running: the coroutine on whose stack
/// the resumer waits; null for a plain thread.
///
/// # Safety
/// It runs on this thread, or waits for a coroutine that it has resumed.
pub unsafe fn resumer_of(control: &Control) -> *mut Control {
    // SAFETY: the resumer of a running coroutine waits there.
    let waits = unsafe { &*control.back() };
    #[cfg(leno_baton)]
    return waits.whose();
    #[cfg(not(leno_baton))]
    // SAFETY: the stack on which the resumer waits.
    unsafe {
        owner_of(waits.stack_pointer())
    }
}

/// The control block at the top of the stack that `address` is on, which may be a home's.
pub fn block_at(address: usize) -> Option<NonNull<Control>> {
    let (slab, slot, guard) = stack::locate(address)?;
    // In use, so its block is set up.
    let used = !guard && slab.owner(slot).load(Relaxed) != 0;
    if used { NonNull::new(block_of(&Stack::of(slab, slot))) } else { None }
}

/// The control blocks of all live coroutines of this thread that have a stack to themselves, and
/// of all homes.
pub fn of_this_thread() -> Vec<NonNull<Control>> {
    of_thread(thread::block().number()).collect()
}

/// The same of the thread with this number.
pub(crate) fn of_thread(number: u32) -> impl Iterator<Item = NonNull<Control>> {
    let slots = stack::slab::all().flat_map(move |slab| {
        slab.used_by(Some(number)).map(move |slot| block_of(&Stack::of(slab, slot)))
    });
    slots.filter_map(NonNull::new)
}

/// Marks the stack of a coroutine that may change threads: it is then listed with no thread's
/// coroutines, because another thread may take it at any time.
pub fn set_wandering(control: &Control) {
    if let Some(stack) = control.stack() {
        stack.slab.owner(stack.slot).store(u32::MAX, Relaxed);
    }
}

/// Keeps the frames of the running code where they are, until it is dropped: on a stack that several coroutines share they
/// may else be copied away while the code calls another one. For what others refer to by its address.
#[derive(Debug)]
#[must_use = "frames are held as long as it lives"]
pub struct HeldFrames(PhantomData<*const ()>);

/// See [`HeldFrames`].
///
/// # Safety
/// The result is dropped, or forgotten, before the calling function returns or unwinds.
#[inline(always)]
pub unsafe fn hold_frames() -> HeldFrames {
    if thread::block().shares_stacks() {
        count_held(1);
    }
    HeldFrames(PhantomData)
}

/// Nothing but whether the thread shares stacks is looked at on others: a coroutine that is on one of these stays there, and
/// on its thread.
impl Drop for HeldFrames {
    #[inline(always)]
    fn drop(&mut self) {
        if thread::block().shares_stacks() {
            count_held(-1);
        }
    }
}

#[cold]
#[inline(never)]
fn count_held(by: i64) {
    let Some(block) = block_at(switch::stack_pointer()) else { return };
    // SAFETY: in use, by the running code.
    let home = unsafe { block.as_ref() };
    if home.kind() == Kind::Home {
        // A home is no member of a ring: it has no other use for it.
        home.place.set(home.place.get().wrapping_add_signed(by));
    }
}

/// Whether something holds the frames that are on a home; see [`HeldFrames`].
pub fn are_held(home: &Control) -> bool {
    debug_assert_eq!(home.kind(), Kind::Home, "no other stack's frames are moved");
    home.place.get() > 0
}
