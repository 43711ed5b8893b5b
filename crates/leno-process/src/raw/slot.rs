//! A slot for one value, between one who settles it and one who waits for it; without a lock, and without
//! counting who has it.
//!
//! Each of the two ends is one value, so each side below is one thread at a time. The state says whose the
//! cells are:
//!
//! ```text
//!   state      waiter is            value is             changed by
//!   OPEN       the taker's          the giver's          taker to WAITED, giver to SETTLED
//!   WAITED     nobody's             the giver's          taker back to OPEN, giver to CLAIMED
//!   CLAIMED    the giver's          the giver's          giver to SETTLED
//!   SETTLED    the taker's          the taker's          nobody: the taker frees the slot
//!   GONE       the giver's          the giver's          nobody: the giver frees the slot
//!   REVOKED    as GONE; whoever has the giver need not do anything for the value any more
//! ```
//!
//! 1. The taker leaves its waiter, then says WAITED. The giver writes the value and says SETTLED; if it
//!    found WAITED before, it claims the waiter first, and wakes it after. So either the taker's change
//!    fails, because the value is there, or the giver finds the waiter: no wake-up is lost.
//! 2. Once it is SETTLED the giver touches nothing of the slot; what it wakes it has moved out while it was
//!    CLAIMED. So the taker may free it as soon as it sees SETTLED.
//! 3. A taker that goes before says GONE, from OPEN or CLAIMED, and then touches nothing either.
//! 4. Each change releases what was written before, and acquires what the other side wrote.
//!
//! Not a wait queue of the kernel, as other waits of this crate are: there is at most one that waits
//! ([`Alone`](leno_kernel::layer::queue::Alone)), which may be a future that moves, and with a lock, and a count of the two ends,
//! an answer took about twice as long and the slot a third more memory.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

use leno_kernel::layer::{is_planted, user};

use crate::step;

const OPEN: u8 = 0;
const WAITED: u8 = 1;
const CLAIMED: u8 = 2;
const SETTLED: u8 = 3;
const GONE: u8 = 4;
const REVOKED: u8 = 5;

struct Slot<H, W, T> {
    state: AtomicU8,
    waiter: UnsafeCell<Option<W>>,
    value: UnsafeCell<Option<T>>,
    header: H,
}

/// Whether the state was `from`, and is `to` now. The other side may free the slot as soon as it is, so this
/// has nothing but the state.
#[inline(always)]
fn changes(state: &AtomicU8, from: u8, to: u8) -> bool {
    step();
    // With `LENO_PLANTED=reply` a waiter is left without looking: exploration must notice.
    if from == OPEN && to == WAITED && is_planted("reply") {
        state.store(to, Release);
        return true;
    }
    state.compare_exchange(from, to, AcqRel, Acquire).is_ok()
}

impl<H, W, T> Slot<H, W, T> {
    fn state(&self) -> u8 {
        step();
        self.state.load(Acquire)
    }

    /// # Safety
    /// The waiter is the caller's; see the module.
    unsafe fn replace_waiter(&self, waiter: Option<W>) -> Option<W> {
        // SAFETY: it is the caller's, so nobody else touches it.
        unsafe { self.waiter.get().replace(waiter) }
    }

    /// # Safety
    /// The value is the caller's; see the module.
    unsafe fn replace_value(&self, value: Option<T>) -> Option<T> {
        // SAFETY: it is the caller's, so nobody else touches it.
        unsafe { self.value.get().replace(value) }
    }
}

/// The end that settles the slot. Dropped without, it settles nothing: its user does, before.
pub(crate) struct Giver<H, W, T> {
    slot: NonNull<Slot<H, W, T>>,
    owns: PhantomData<Slot<H, W, T>>,
}

/// The end that waits for the value.
pub(crate) struct Taker<H, W, T> {
    slot: NonNull<Slot<H, W, T>>,
    owns: PhantomData<Slot<H, W, T>>,
}

// SAFETY: the two ends may be on two threads: values and waiters move between them, and both look at
// the header. All else is the protocol's.
unsafe impl<H: Send + Sync, W: Send, T: Send> Send for Giver<H, W, T> {}
// SAFETY: as above.
unsafe impl<H: Send + Sync, W: Send, T: Send> Send for Taker<H, W, T> {}
// SAFETY: a shared end shows nothing but the header.
unsafe impl<H: Send + Sync, W: Send, T: Send> Sync for Giver<H, W, T> {}
// SAFETY: as above.
unsafe impl<H: Send + Sync, W: Send, T: Send> Sync for Taker<H, W, T> {}

// The slot stays where it is, whoever moves an end; and nothing of a user runs while it is half changed.
impl<H, W, T> Unpin for Giver<H, W, T> {}
impl<H, W, T> Unpin for Taker<H, W, T> {}
impl<H, W, T> UnwindSafe for Giver<H, W, T> {}
impl<H, W, T> UnwindSafe for Taker<H, W, T> {}
impl<H, W, T> RefUnwindSafe for Giver<H, W, T> {}
impl<H, W, T> RefUnwindSafe for Taker<H, W, T> {}

/// Both ends of a new slot. Both see the header.
pub(crate) fn slot<H, W, T>(header: H) -> (Giver<H, W, T>, Taker<H, W, T>) {
    let slot = Slot {
        state: AtomicU8::new(OPEN),
        waiter: UnsafeCell::new(None),
        value: UnsafeCell::new(None),
        header,
    };
    let slot = NonNull::from(Box::leak(Box::new(slot)));
    (Giver { slot, owns: PhantomData }, Taker { slot, owns: PhantomData })
}

impl<H, W, T> Giver<H, W, T> {
    pub(crate) fn header(&self) -> &H {
        &self.slot().header
    }

    fn slot(&self) -> &Slot<H, W, T> {
        // SAFETY: the slot is freed by the giver, or by the taker after the giver has settled it, which takes
        // the giver with it.
        unsafe { self.slot.as_ref() }
    }

    /// Whether the taker has revoked what the value is for.
    #[inline]
    pub(crate) fn is_revoked(&self) -> bool {
        self.slot().state() == REVOKED
    }

    /// Settles the slot. Gives back who waited, for the caller to wake. `before` is done with it before it can
    /// know, so that nothing of this wait is mistaken for its next one's.
    #[inline]
    pub(crate) fn settle(self, value: T, before: impl FnOnce(&mut W)) -> Option<W> {
        let slot = self.slot();
        // SAFETY: until it is settled, or the taker has gone, the value is the giver's.
        unsafe { slot.replace_value(Some(value)) };
        loop {
            match slot.state() {
                OPEN if changes(&slot.state, OPEN, SETTLED) => return None,
                WAITED if changes(&slot.state, WAITED, CLAIMED) => {
                    // SAFETY: it was claimed.
                    let mut waiter = unsafe { slot.replace_waiter(None) };
                    if let Some(waiter) = &mut waiter {
                        before(waiter);
                    }
                    if !changes(&slot.state, CLAIMED, SETTLED) {
                        // SAFETY: the taker has gone, as only it changes what is claimed.
                        unsafe { free(self.slot) };
                    }
                    return waiter;
                }
                GONE | REVOKED => {
                    // SAFETY: the taker has gone, and the giver goes with this.
                    unsafe { free(self.slot) };
                    return None;
                }
                // The taker has changed it meanwhile.
                _ => {}
            }
        }
    }
}

impl<H, W, T> Taker<H, W, T> {
    pub(crate) fn header(&self) -> &H {
        &self.slot().header
    }

    fn slot(&self) -> &Slot<H, W, T> {
        // SAFETY: the slot is freed by the taker when it is dropped, or by the giver after that.
        unsafe { self.slot.as_ref() }
    }

    /// Whether the slot is settled.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.slot().state() == SETTLED
    }

    /// The value, if it is there and was not taken before.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        if !self.is_settled() {
            return None;
        }
        // SAFETY: it is settled: the value is the taker's, which is borrowed mutably.
        unsafe { self.slot().replace_value(None) }
    }

    /// Leaves a waiter, which whoever settles the slot gets; in place of the one that was left before. Gives it
    /// back if the slot is settled, or is being settled: then it is another one who is woken.
    #[inline]
    pub(crate) fn leave(&mut self, waiter: W) -> Result<(), W> {
        self.forget_waiter();
        let slot = self.slot();
        if slot.state() != OPEN {
            return Err(waiter);
        }
        // SAFETY: it is open: the waiter is the taker's, which is borrowed mutably.
        unsafe { slot.replace_waiter(Some(waiter)) };
        if changes(&slot.state, OPEN, WAITED) {
            return Ok(());
        }
        // SAFETY: from open the giver makes it settled, and the waiter is the taker's then as well.
        Err(unsafe { slot.replace_waiter(None) }.expect("it was left just now"))
    }

    /// The taker goes, and tells the giver that the value is not worth making.
    #[cold]
    pub(crate) fn revoke(mut self) {
        self.forget_waiter();
        if changes(&self.slot().state, OPEN, REVOKED) {
            // The slot is the giver's to free.
            core::mem::forget(self);
        }
    }

    /// Drops the waiter, if there is one whom nobody has claimed. It may be a waker, which is user code: what it
    /// raises goes to the failure hook.
    #[inline]
    fn forget_waiter(&mut self) {
        if let Some(waiter) = self.withdraw() {
            user::discard(waiter);
        }
    }

    /// Takes the waiter back, if there is one whom nobody has claimed.
    #[inline]
    pub(crate) fn withdraw(&mut self) -> Option<W> {
        let slot = self.slot();
        if slot.state() != WAITED || !changes(&slot.state, WAITED, OPEN) {
            return None;
        }
        // SAFETY: it is open: the waiter is the taker's, which is borrowed mutably.
        unsafe { slot.replace_waiter(None) }
    }
}

impl<H, W, T> Drop for Taker<H, W, T> {
    #[inline]
    fn drop(&mut self) {
        self.forget_waiter();
        let slot = self.slot();
        loop {
            match slot.state() {
                // SAFETY: the giver does not touch what is settled, and the taker goes with this.
                SETTLED => return unsafe { free(self.slot) },
                state @ (OPEN | CLAIMED) if changes(&slot.state, state, GONE) => return,
                // The giver has changed it meanwhile.
                _ => {}
            }
        }
    }
}

/// # Safety
/// Nobody else has the slot.
unsafe fn free<H, W, T>(slot: NonNull<Slot<H, W, T>>) {
    // SAFETY: it was a box; nobody else has it.
    drop(unsafe { Box::from_raw(slot.as_ptr()) });
}

#[cfg(all(test, not(miri)))]
mod explored;
#[cfg(test)]
mod tests;
