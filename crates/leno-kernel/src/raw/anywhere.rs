//! Regions in which a coroutine may be preempted at any instruction.
//!
//! Claims:
//! - A region is entered for the coroutine on whose stack its guard is, and whose core runs it: see
//!   [`preempt_anywhere`]. Such a coroutine stays on its core's thread.
//! - A section without preemption that ends after its region, or in another order than it began, leaves
//!   nothing behind: [`leno_context::interrupt`] counts the sections of each region.
//! - What the kernel does for code in a region, at its safepoints and in its sections without
//!   preemption, it does with interruptions held.

use leno_context::interrupt::{self, Unsupported};

use super::entered::{self, Here};
use crate::Wake;

/// Whether code can be preempted anywhere in this process; makes it possible if so.
///
/// # Errors
/// Elsewhere than on x86_64 Linux with glibc, under checking tools, or where SIGURG is taken.
pub fn can_preempt_anywhere() -> Result<(), Unsupported> {
    // SAFETY: nobody else in the process has a hook; coroutines of a core stay on its thread.
    unsafe { interrupt::prepare_with(on_interrupt) }
}

/// Calls `f`; meanwhile the calling coroutine may be preempted at any instruction, when a
/// [budget of time](crate::Budget::time) with which it is attached is over. For code without
/// safepoints that cannot get any: a dependency's loop, a long computation.
///
/// A timer's signal interrupts the thread, and the coroutine is suspended as if the interrupted
/// code had called a function. Units are not counted here, and a budget of units, or none, changes
/// nothing, so runs that are to be repeated do not use it. The coroutine is not ended in the middle
/// of such code: one that is to exit does so at its next safepoint or operation.
///
/// Allocating is fine, and so are panics that are caught inside; [`charge`](crate::charge) and
/// [`no_preempt`](crate::no_preempt) too. In a section without preemption everything is allowed.
///
/// # Safety
/// Everything that `f` runs, outside of sections of [`no_preempt`](crate::no_preempt), may be cut in
/// two by other coroutines of the same thread. So it must not
///
/// - use thread-locals, its own or those of libraries, and so no operations of leno;
/// - hold locks that other coroutines of the thread may take: of std, of libc, or spinning ones;
/// - print by std, whose streams have such locks;
/// - call C code that is linked into the program, as that may do all of this (code of shared libraries
///   is not cut);
/// - allocate by an allocator that is part of the program, unless a
///   [`GuardedAllocator`](leno_context::interrupt::GuardedAllocator) is around it;
/// - use registers of AMX;
/// - share what is not `Sync` with other coroutines of the thread; captures are `Send`, which keeps
///   most of it out.
///
/// # Panics
/// Where [`can_preempt_anywhere`] is an error.
///
/// # Examples
/// ```
/// use leno_kernel::{Budget, LocalSystem, Options, Sink, preempt_anywhere};
/// use std::time::Duration;
///
/// if leno_kernel::can_preempt_anywhere().is_err() {
///     return;
/// }
/// let system = LocalSystem::builder().preemptive().build();
/// let slices = system.spawn(|| {
///     let sink = Sink::new();
///     // A loop without safepoints.
///     let sum = || (0..30_000_000u64).fold(0u64, |sum, n| std::hint::black_box(sum ^ n));
///     // SAFETY: it computes, and nothing else.
///     drop(sink.spawn(&Options::new(), move || unsafe { preempt_anywhere(sum) }));
///     let mut slices = 0;
///     while let Some(co) = sink.next() {
///         co.attach(Budget::time(Duration::from_millis(1))).unwrap();
///         slices += 1;
///     }
///     slices
/// });
/// system.run().unwrap();
/// assert!(slices.join().unwrap() > 1);
/// ```
pub unsafe fn preempt_anywhere<R>(f: impl FnOnce() -> R + Send) -> R {
    if let Err(why) = can_preempt_anywhere() {
        panic!("{why}");
    }
    let own = entered::here(|here| match here {
        Here::Stack(inside) if inside.is_own_stack() => Some(inside.control),
        _ => None,
    });
    let Some(own) = own else { return f() };
    // SAFETY: the coroutine runs this code, on its own stack, and stays on its core's thread; it is
    // prepared; `f` keeps the contract.
    let within = unsafe { interrupt::enter(own) };
    set_timer();
    let result = f();
    drop(within);
    result
}

/// Runs in the middle of the interrupted code, on its stack.
fn on_interrupt() {
    let wake = entered::here(|here| match here {
        Here::Stack(inside) => inside.core.interrupt(&inside),
        _ => Wake::Unparked,
    });
    if wake == Wake::Exit {
        // If a safepoint was interrupted in the middle, it has counted on: the next one is told again.
        return interrupt::arm(interrupt::SOON);
    }
    set_timer();
}

/// Has the running coroutine interrupted when its time is over.
pub(crate) fn set_timer() {
    let left = entered::here(|here| match here {
        Here::Stack(inside) => inside.core.time_left(inside.co),
        _ => None,
    });
    if let Some(left) = left {
        // If it is over already, then soon: the coroutine might be one that cannot give way now.
        interrupt::arm(left.max(interrupt::SOON / 2));
    }
}

/// Calls `f`, which is the kernel's, on behalf of code that may be in a region: it is not
/// interrupted meanwhile.
#[inline(always)]
pub(crate) fn held<R>(f: impl FnOnce() -> R) -> R {
    let held = interrupt::hold();
    let result = f();
    let_go(held);
    result
}

/// Ends a section without interruptions.
#[inline(always)]
pub(crate) fn let_go(held: interrupt::Held) {
    let was_within = held.was_within();
    drop(held);
    // The region may have ended before, or others of its sections may be open.
    if was_within && interrupt::is_within() {
        set_timer();
    }
}
