//! An allocator in which nobody is interrupted.

use core::sync::atomic::{
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};
use std::alloc::{GlobalAlloc, Layout};

use crate::switch;
use crate::thread::Block;

/// An allocator around another one: code is not interrupted while it allocates.
///
/// For programs that preempt coroutines anywhere, or bind them to threads, and whose allocator is
/// part of the program. The system's allocator is not, so the default one does without; a guard
/// does no harm there.
///
/// # Examples
/// ```
/// use leno_context::interrupt::GuardedAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: GuardedAllocator<std::alloc::System> = GuardedAllocator(std::alloc::System);
///
/// assert_eq!(vec![1, 2, 3].len(), 3);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardedAllocator<A>(pub A);

/// Counts a section in and out. On a thread that has never used leno there is nothing to count.
#[inline(always)]
fn guarded<R>(f: impl FnOnce() -> R) -> R {
    let slot = switch::thread_slot().cast::<Block>();
    // SAFETY: null, or the thread's block, which is freed after the slot was cleared. No allocation
    // happens between the two, as the block is freed by one itself: see below.
    let Some(own) = (unsafe { slot.as_ref() }) else { return f() };
    let count = &own.interrupts.guarded;
    // Only this thread writes; a handler in between leaves it as it was.
    count.store(count.load(Relaxed) + 1, Relaxed);
    compiler_fence(SeqCst);
    let result = f();
    compiler_fence(SeqCst);
    count.store(count.load(Relaxed) - 1, Relaxed);
    result
}

// SAFETY: forwards everything to an allocator.
unsafe impl<A: GlobalAlloc> GlobalAlloc for GuardedAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: forwarded.
        guarded(|| unsafe { self.0.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: forwarded.
        guarded(|| unsafe { self.0.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: forwarded.
        guarded(|| unsafe { self.0.dealloc(memory, layout) });
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: forwarded.
        guarded(|| unsafe { self.0.realloc(memory, layout, size) })
    }
}
