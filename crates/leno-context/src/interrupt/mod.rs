//! Interrupting code at any instruction, by a signal.
//!
//! Three things use it: coroutines that may be preempted anywhere ([`enter`]), threads that are
//! attached and parked wherever they are ([`bound`]), and a watchdog that asks where a thread is
//! ([`sample`]). All share one signal, SIGURG, which the system sends for nothing else that anyone
//! uses, and which does nothing where it is not expected.
//!
//! # How a coroutine is preempted
//! The handler does not switch stacks: what it would leave behind, on the alternate signal stack or
//! in the kernel's frame, belongs to the thread and not to the coroutine. It *injects a call*: it
//! puts the interrupted address on the coroutine's stack, below the 128 bytes that leaf functions
//! may use there, and lets the thread go on in a trampoline, which saves every register and calls
//! the [`Hook`] like a function. When that returns, the registers are put back, and the interrupted
//! code goes on.
//!
//! The handler injects only if all of this holds; else a timer makes it look again [`SOON`]:
//!
//! 1. The thread is *within*: code on the stack of this very coroutine has opted in.
//! 2. It is not in a guarded section: the allocator ([`GuardedAllocator`]).
//! 3. The program counter is in the program's own text: not in libc, the loader, the vdso, nor in
//!    the trampoline.
//! 4. The thread is not panicking: a panic's state is the thread's.
//! 5. There is room on the stack for the registers and the hook.
//! 6. The coroutine stays with its thread: it is none that migrates, and its kernel never moves it.
//!
//! A hook sets the timer for the code that it goes back to before that is within again. So a timer that goes off while
//! nobody is within is noted, and whoever comes back within sets it anew.
//!
//! What is left to the contract of whoever opts in is in the kernel's `preempt_anywhere`.

mod allocator;
pub mod bound;
mod region;
mod sample;

#[cfg_attr(
    all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu",
        not(any(leno_baton, leno_asan, leno_tsan, miri))
    ),
    path = "x86_64.rs"
)]
#[cfg_attr(
    not(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu",
        not(any(leno_baton, leno_asan, leno_tsan, miri))
    )),
    path = "absent.rs"
)]
mod backend;

pub use allocator::GuardedAllocator;
pub use backend::{arm, disarm};
pub use region::{Held, Within, enter, hold, is_within};
pub use sample::{Sample, sample, thread_id};

use core::cell::Cell;
use core::fmt;
use core::sync::atomic::{AtomicPtr, AtomicU32};
use core::time::Duration;

use self::region::Regions;
use crate::control::Control;
use crate::thread::Block;

/// What is called in the middle of the interrupted code, on its stack, with all registers saved. It
/// must not unwind, and returns on the thread on which it was called.
pub type Hook = fn();

/// When the handler looks again if it could not interrupt.
pub const SOON: Duration = Duration::from_micros(100);

/// What the handler knows of a thread. Only the thread itself writes, mostly; the handler runs on
/// the same thread, between any two instructions.
#[derive(Debug)]
#[allow(dead_code, reason = "not every backend has a handler")]
pub(crate) struct Interrupts {
    /// The coroutine that may be interrupted while code runs on its stack.
    pub(crate) within: AtomicPtr<Control>,
    /// The regions that were entered, which the handler does not look at.
    pub(crate) regions: Regions,
    /// The coroutine that was interrupted, from the handler to the hook.
    pub(crate) interrupted: AtomicPtr<Control>,
    /// How many guarded sections the thread is in.
    pub(crate) guarded: AtomicU32,
    /// Whether its timer is set, so that the handler may set it again.
    pub(crate) is_armed: AtomicU32,
    /// Whether its timer has gone off while nobody was within, for the hook on its way back to one who is.
    pub(crate) is_missed: AtomicU32,
    /// What a bound thread and its attacher share.
    pub(crate) baton: AtomicPtr<bound::Baton>,
    /// Its timer, once it has one.
    pub(crate) timer: Cell<Option<usize>>,
    /// How it computes with fractions, MXCSR and the x87 control word, outside of what opted in.
    pub(crate) modes: Cell<(u32, u16)>,
}

impl Interrupts {
    pub(crate) const fn new() -> Interrupts {
        Interrupts {
            within: AtomicPtr::new(core::ptr::null_mut()),
            regions: Regions::new(),
            interrupted: AtomicPtr::new(core::ptr::null_mut()),
            guarded: AtomicU32::new(0),
            is_armed: AtomicU32::new(0),
            is_missed: AtomicU32::new(0),
            baton: AtomicPtr::new(core::ptr::null_mut()),
            timer: Cell::new(None),
            modes: Cell::new((0x1f80, 0x37f)),
        }
    }

    /// The thread ends.
    pub(crate) fn end(&self) {
        backend::end(self);
    }
}

/// Makes it possible in this process to ask where threads are, and to park bound ones.
///
/// # Errors
/// Where code cannot be interrupted.
pub fn prepare() -> Result<(), Unsupported> {
    backend::prepare(None)
}

/// The same, and has this hook called from now on in the middle of code that was interrupted.
///
/// # Errors
/// Where code cannot be interrupted.
///
/// # Safety
/// The hook is one for all code that opts in, in the whole process. It returns on the thread on which it
/// was called.
pub unsafe fn prepare_with(hook: Hook) -> Result<(), Unsupported> {
    backend::prepare(Some(hook))
}

/// The calling thread as the handler sees it; `None` if it has never used leno.
#[allow(dead_code, reason = "not every backend has a handler")]
pub(crate) fn own_thread() -> Option<&'static Block> {
    let slot = crate::switch::thread_slot().cast::<Block>();
    // SAFETY: the slot holds null or this thread's block, which is freed after the slot was cleared.
    unsafe { slot.as_ref() }
}

/// Code cannot be interrupted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// Not on this processor or system, or not under this checking tool.
    Platform,
    /// The processor cannot save all its registers in the way that is needed, or has some that are
    /// not known.
    Processor,
    /// SIGURG has a handler already.
    SignalTaken,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsupported::Platform => {
                "code is interrupted on x86_64 Linux with glibc only, and not under checking tools; \
                 use safepoints"
            }
            Unsupported::Processor => {
                "code cannot be interrupted: this processor has no xsavec, or registers that leno \
                 does not know; use safepoints"
            }
            Unsupported::SignalTaken => {
                "code cannot be interrupted: SIGURG has a handler already; use safepoints"
            }
        })
    }
}

impl std::error::Error for Unsupported {}
