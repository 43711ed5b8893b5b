//! Entering and leaving rings, and finding the one the calling code is in.

use core::cell::{Cell, RefCell, UnsafeCell};
use core::fmt;
use core::panic::Location;
use core::ptr::NonNull;

use leno_context::control::{self, Control, Kind, Spec, bits};
use leno_context::last_words;
use leno_context::stack::StackSize;
use leno_context::thread::{self, Slot};
use leno_context::word::Word;
use leno_context::{Name, overflow};

use super::Ring;
use super::queue::Queue;
use crate::ring::{Failure, RingError};
use crate::trace;

impl Ring {
    /// Enters a new ring in the running context.
    pub(super) fn enter(borrows: bool) -> NonNull<Ring> {
        let host = control::current();
        let initial = control::spare_block();
        let spec = Spec {
            name: Name::from("initial"),
            site: Location::caller(),
            size: StackSize::DEFAULT,
            kind: Kind::Member,
            watched: trace::is_on(),
        };
        // SAFETY: a spare block is ours.
        unsafe { control::set_up(initial.as_ptr(), spec, None, never) };
        // SAFETY: just set up.
        let block = unsafe { initial.as_ref() };
        block.mark(bits::RUNNING);
        let own = entered(host);
        let ring = NonNull::from_mut(Box::leak(Box::new(Ring {
            initial,
            host,
            outer: own.get(),
            unwinding: std::thread::panicking(),
            borrows,
            at_thread_end: borrows && thread::is_ending(),
            current: Cell::new(initial),
            queue: UnsafeCell::new(Queue::new()),
            before: Cell::new(None),
            raise: Cell::new(None),
            draining: Cell::new(false),
            held: Cell::new(0),
            gave_up: Cell::new(false),
            failures: RefCell::default(),
        })));
        block.ring.set(ring.as_ptr().cast());
        if host.is_null() {
            if let Some((low, high)) = overflow::thread_range() {
                block.set_range(low, high);
            }
        // SAFETY: the running coroutine's block is live.
        } else if let Some(stack) = unsafe { &*host }.stack() {
            block.set_range(stack.limit().addr(), stack.top().addr());
        }
        own.set(ring.as_ptr().cast());
        slot(Slot::RingUsed).set(ring.as_ptr().cast());
        ring
    }

    /// Leaves and frees a ring that has no members left.
    ///
    /// # Safety
    /// `ring` was made by [`Self::enter`] in this context and is not used afterwards.
    pub(super) unsafe fn leave(ring: NonNull<Ring>) {
        // SAFETY: leaked by `enter`.
        let ring = unsafe { Box::from_raw(ring.as_ptr()) };
        entered(ring.host).set(ring.outer);
        slot(Slot::RingUsed).set(core::ptr::null_mut());
        // SAFETY: the ring is gone, and with it the last user of the block.
        unsafe { control::give_back_block(ring.initial) };
    }
}

unsafe extern "C-unwind" fn never(_: Word, _: usize, _: *mut Control) -> ! {
    unreachable!("an initial member is never entered: it is already running")
}

/// A slot of this thread for rings.
#[inline(always)]
fn slot(slot: Slot) -> &'static Cell<*mut ()> {
    // SAFETY: it holds null or a ring, put there and cleared by this module; nobody keeps it.
    unsafe { thread::current().slot(slot) }
}

/// Where the running context keeps the ring it has entered.
fn entered(host: *mut Control) -> &'static Cell<*mut ()> {
    if host.is_null() {
        return slot(Slot::RingBase);
    }
    // SAFETY: the running coroutine's block; its memory is never unmapped.
    unsafe { &(*host).entered }
}

/// The ring of the calling code, if it is the one this thread used last.
#[inline(always)]
pub(super) fn used_here() -> Option<&'static Ring> {
    let used = slot(Slot::RingUsed).get().cast::<Ring>();
    // SAFETY: cleared when the ring is freed.
    let ring = unsafe { used.as_ref() }?;
    ring.current().is_here().then_some(ring)
}

/// The ring of the calling code.
pub(super) fn here() -> Result<&'static Ring, RingError> {
    used_here().map_or_else(find, Ok)
}

#[cold]
#[inline(never)]
fn find() -> Result<&'static Ring, RingError> {
    let control = control::current();
    let ring = ring_of(control);
    if ring.is_null() {
        // SAFETY: the running coroutine's block is live.
        let Some(block) = (unsafe { control.as_ref() }) else { return Err(RingError::NoRing) };
        return Err(RingError::InsideAsymmetric { coroutine: block.shown().to_string() });
    }
    slot(Slot::RingUsed).set(ring);
    // SAFETY: a context's ring is freed only after the context has left it.
    Ok(unsafe { &*ring.cast::<Ring>() })
}

/// The ring that a running context (null: the thread's own) has entered or is a member of.
fn ring_of(control: *mut Control) -> *mut () {
    let entered = entered(control).get();
    // SAFETY: the block of a running coroutine is live.
    match unsafe { control.as_ref() } {
        Some(block) if entered.is_null() => block.ring.get(),
        _ => entered,
    }
}

/// The ring whose current member runs the calling code, perhaps inside asymmetric coroutines that
/// it has resumed: follows the chain of resumers.
pub(super) fn around() -> Result<&'static Ring, RingError> {
    let mut control = control::current();
    loop {
        let ring = ring_of(control);
        if !ring.is_null() {
            // SAFETY: a context's ring is freed only after the context has left it.
            return Ok(unsafe { &*ring.cast::<Ring>() });
        }
        // SAFETY: the block of a running coroutine is live.
        match unsafe { control.as_ref() } {
            // SAFETY: on the chain of the running code.
            Some(block) => control = unsafe { control::resumer_of(block) },
            None => return here_or_enter(),
        }
    }
}

/// The ring of the calling code; a plain thread enters one on first use.
pub(super) fn here_or_enter() -> Result<&'static Ring, RingError> {
    match here() {
        Err(RingError::NoRing) => {
            let ring = Ring::enter(false);
            free_at_thread_exit();
            // SAFETY: freed at thread exit only.
            Ok(unsafe { ring.as_ref() })
        }
        found => found,
    }
}

/// The ring of the calling code; null if it is in none.
pub(in crate::raw) fn ring_here() -> *const () {
    ring_of(control::current())
}

/// The ring of the calling code, which `control` runs, if it is in one; a plain thread (null) enters its own.
pub(super) fn here_or_own(control: *mut Control) -> Option<&'static Ring> {
    let ring = ring_of(control).cast_const().cast::<Ring>();
    // SAFETY: a context's ring is freed only after the context has left it.
    match unsafe { ring.as_ref() } {
        None if control.is_null() => here_or_enter().ok(),
        found => found,
    }
}

/// Frees the ring of the thread's own context when the thread ends, if it has no members left, and
/// says which of its members have failed if nobody has asked.
fn free_at_thread_exit() {
    struct AtExit;
    impl Drop for AtExit {
        fn drop(&mut self) {
            let base = slot(Slot::RingBase).get().cast::<Ring>();
            let Some(ring) = NonNull::new(base) else { return };
            // SAFETY: not freed yet: only this does.
            let found = unsafe { ring.as_ref() };
            let unread = found.failures.take();
            report(&unread);
            drop(unread);
            if found.queue().len() == 0 && !found.gave_up.get() {
                // SAFETY: entered by this context, nobody is in it.
                unsafe { Ring::leave(ring) };
            }
        }
    }
    thread_local!(static AT_EXIT: AtExit = const { AtExit });
    let _ = AT_EXIT.try_with(|_| ());
}

/// Says that nobody has read these failures.
fn report(unread: &[Failure]) {
    let Some(first) = unread.first() else { return };
    // Last words allocate nothing.
    let more = fmt::from_fn(|f| match unread.len() - 1 {
        0 => Ok(()),
        n => write!(f, " (and {n} more)"),
    });
    last_words::say(format_args!(
        "thread '{}' ended with a failure of its ring that ring::failures has not taken: \
         member {} panicked with {:?}{more}",
        std::thread::current().name().unwrap_or("unnamed"),
        first.member,
        first.message().unwrap_or("no text"),
    ));
}
