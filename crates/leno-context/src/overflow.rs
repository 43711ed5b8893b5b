//! A message instead of a segmentation fault, and a way to ask before.
//!
//! A coroutine that runs into its guard page gets a SIGSEGV. The handler here finds out by
//! address arithmetic whose guard it was, prints name, id, stack size, where the coroutine was
//! made and whether it was panicking, and aborts. It cannot become a panic: the faulting frame is half set up, destructors
//! would be skipped. All other faults go on to the handler that was there before (std's, which
//! reports overflows of OS threads' stacks).
//!
//! The handler runs on the thread's alternate signal stack; std makes one for its own threads,
//! leno makes one where there is none. Everything the handler does is
//! async-signal-safe: loads, arithmetic, formatting into a buffer of its own, `write`, `abort`.

#[cfg(not(leno_baton))]
pub(crate) use handler::prepare_thread;

use crate::stack;
use crate::switch;

/// Panics, with a message that says so, unless `bytes` of stack are left.
///
/// For code that recurses or calls foreign code with large frames: an ordinary panic at an
/// ordinary place, which unwinds, instead of an overflow, which ends the process. Works in
/// coroutines and on plain threads.
///
/// The panic itself needs stack: some 4 KiB, and about 20 KiB if it prints a backtrace
/// (`RUST_BACKTRACE=1`). Ask for 32 KiB, beside what the code needs, where that may be.
///
/// # Panics
/// When less than `bytes` are left on the running stack.
///
/// # Examples
/// ```
/// # use leno_context as leno;
/// fn depth(n: usize) -> usize {
///     leno::check_stack(32 * 1024);
///     let frame = [n; 256];
///     1 + depth(frame[7] + 1)
/// }
/// assert!(std::panic::catch_unwind(|| depth(0)).is_err());
/// ```
#[track_caller]
#[inline(never)]
pub fn check_stack(bytes: usize) {
    if let Some(left) = stack_left()
        && left < bytes
    {
        let block = crate::control::current();
        if block.is_null() {
            panic!("check_stack: {bytes} bytes of stack asked for, this thread has {left} left");
        }
        // SAFETY: the running coroutine's block is live.
        let block = unsafe { &*block };
        panic!(
            "check_stack: {bytes} bytes of stack asked for, {} {} has {left} left",
            block.noun(),
            block.shown()
        );
    }
}

/// Bytes left on the running stack; `None` where that cannot be told.
pub fn stack_left() -> Option<usize> {
    let sp = switch::stack_pointer();
    match stack::locate(sp) {
        Some((slab, slot, _)) => Some(sp.saturating_sub(slab.limit(slot).addr())),
        None => thread_limit().map(|limit| sp.saturating_sub(limit)),
    }
}

/// The lowest usable address of this OS thread's own stack.
fn thread_limit() -> Option<usize> {
    thread_range().map(|(low, _)| low)
}

#[cfg(miri)]
/// The usable addresses of this OS thread's own stack; `None` where that cannot be told.
pub fn thread_range() -> Option<(usize, usize)> {
    None
}

/// The usable addresses of this OS thread's own stack; `None` where that cannot be told.
#[cfg(not(miri))]
pub fn thread_range() -> Option<(usize, usize)> {
    use core::cell::Cell;
    thread_local!(static RANGE: Cell<(usize, usize)> = const { Cell::new((0, 0)) });
    let known = RANGE.get();
    if known.0 != 0 {
        return Some(known);
    }
    let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: asks only.
    let own = unsafe { libc::pthread_self() };
    // SAFETY: asks about this thread, into room for the answer.
    let asked = unsafe { libc::pthread_getattr_np(own, attributes.as_mut_ptr()) };
    if asked != 0 {
        return None;
    }
    let (mut low, mut size, mut guard) = (core::ptr::null_mut(), 0, 0);
    // SAFETY: filled in above.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut size) };
    // SAFETY: as above.
    unsafe { libc::pthread_attr_getguardsize(attributes.as_ptr(), &mut guard) };
    // SAFETY: as above; not used afterwards.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    // The main thread's lowest page may be the gap the kernel keeps; one page of caution.
    let range = (low.addr() + guard + stack::PAGE, low.addr() + size);
    RANGE.set(range);
    Some(range)
}

#[cfg(not(leno_baton))]
mod handler {
    use core::fmt::Write;
    use core::mem::MaybeUninit;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::Once;

    use crate::control;
    use crate::last_words::Buffer;
    use crate::name::Name;
    use crate::stack::{self, Stack};

    /// What handled each signal before: handler address and flags.
    static BEFORE: [[AtomicUsize; 2]; 2] = [const { [const { AtomicUsize::new(0) }; 2] }; 2];
    const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];
    const ALTERNATE: usize = 64 * 1024;

    /// Installs the handler (once) and an alternate stack (where this thread has none).
    pub(crate) fn prepare_thread() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(install);
        let mut now = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: asks only.
        unsafe { libc::sigaltstack(core::ptr::null(), now.as_mut_ptr()) };
        // SAFETY: all zeroes is a valid value, and it was filled in.
        let now = unsafe { now.assume_init() };
        if now.ss_flags & libc::SS_DISABLE == 0 {
            return;
        }
        let Ok(memory) = crate::stack::slab::map(ALTERNATE) else { return };
        let alternate = libc::stack_t { ss_sp: memory.cast(), ss_flags: 0, ss_size: ALTERNATE };
        // SAFETY: fresh memory that stays mapped: a foreign thread may end at any time.
        unsafe { libc::sigaltstack(&alternate, core::ptr::null_mut()) };
    }

    fn install() {
        for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
            let mut old = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: all zeroes is a valid sigaction.
            let mut new = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
            new.sa_sigaction = on_fault as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            // SAFETY: a handler of the right type that is async-signal-safe.
            if unsafe { libc::sigaction(signal, &new, old.as_mut_ptr()) } == 0 {
                // SAFETY: filled in by the call.
                let old = unsafe { old.assume_init() };
                before[0].store(old.sa_sigaction, Relaxed);
                before[1].store(old.sa_flags as usize, Relaxed);
            }
        }
    }

    unsafe extern "C" fn on_fault(
        signal: i32,
        info: *mut libc::siginfo_t,
        ucontext: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes valid information.
        let info_ref = unsafe { &*info };
        // SAFETY: a fault carries an address.
        let address = unsafe { info_ref.si_addr() }.addr();
        if let Some((slab, slot, true)) = stack::locate(address) {
            report(&Stack::of(slab, slot), address);
            // SAFETY: ends the process.
            unsafe { libc::abort() }
        }
        // SAFETY: forwarded as received.
        unsafe { pass_on(signal, info, ucontext) }
    }

    fn report(stack: &Stack, address: usize) {
        let mut text = Buffer::new();
        // SAFETY: not in use, or by the thread that has run into its guard.
        let block = unsafe { control::owner_of(stack.limit().addr()) };
        let size = stack.size().bytes() / 1024;
        if block.is_null() {
            let _ = writeln!(
                text,
                "\nleno: an access ran into the guard of an unused {size} KiB stack at {address:#x}"
            );
        } else {
            // SAFETY: the slot is in use, by the coroutine that faulted or one that is suspended.
            let block = unsafe { &*block };
            let _ = write!(text, "\nleno: {} {}", block.noun(), block.shown());
            if *block.name() != Name::NONE {
                let _ = write!(text, " (id {})", block.id());
            }
            let _ = write!(text, " has overflowed its stack of {size} KiB");
            // Reads two counters, one of them a thread-local that this thread's panic has used.
            if std::thread::panicking() {
                let _ = write!(text, " while it panicked (a backtrace alone needs about 20 KiB)");
            }
            let _ = writeln!(
                text,
                "; created at {}; give it a larger stack_size, or call check_stack where it \
                 recurses",
                block.site(),
            );
        }
        text.flush();
    }

    unsafe fn pass_on(signal: i32, info: *mut libc::siginfo_t, ucontext: *mut libc::c_void) {
        let which = SIGNALS.iter().position(|&known| known == signal).unwrap_or(0);
        let before = BEFORE[which][0].load(Relaxed);
        if before == libc::SIG_DFL || before == libc::SIG_IGN {
            // Returning repeats the fault, now with the default action.
            // SAFETY: resets to the default action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            return;
        }
        if BEFORE[which][1].load(Relaxed) & libc::SA_SIGINFO as usize == 0 {
            // SAFETY: a one-argument handler was registered without SA_SIGINFO.
            let handler = unsafe { core::mem::transmute::<usize, extern "C" fn(i32)>(before) };
            return handler(signal);
        }
        type Full = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: a three-argument handler was registered with SA_SIGINFO.
        let handler = unsafe { core::mem::transmute::<usize, Full>(before) };
        // SAFETY: called as the kernel would.
        unsafe { handler(signal, info, ucontext) }
    }
}
