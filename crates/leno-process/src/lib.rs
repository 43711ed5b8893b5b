//! Preemption, and what is built on it (Madsen 2021): a coroutine is attached for a budget and comes
//! back when that is used up.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_process::` as `leno::process::`.
//!
//! - [`Budget`], [`Co::attach`]: how far a coroutine may run; a scheduler is user code.
//! - [`safepoint!`], [`preemptible`](macro@preemptible), [`Preemptible`]: where it may be preempted;
//!   [`no_preempt`] where it may not.
//! - [`preempt_anywhere`]: code that may be preempted at any instruction, by promise; [`Bound`]: a
//!   coroutine on a thread of its own, which may be any code.
//! - [`Watchdog`]: who misses its slice, and where it is.
//! - [`Slices`]: time slices written down, to run the same again.
//! - [`Core`]: a core as an object, which sleeps until it is given something to execute.
//! - [`Lock`], [`Semaphore`], [`Monitor`], [`Task`]: exclusion, from compare-and-swap to monitors with
//!   conditions and rendezvous with guards.
//! - [`versioned`]: numbers that one writes and many read.
//! - [`process`](macro@process), [`System`]: processes with entries that others call, on one core or
//!   several.
// Not forbidden: what one thread owns needs it, in `raw` alone. SAFETY.md has its row.
#![deny(unsafe_code)]

/// Before a step of a protocol of words: another thread may come first, where schedules of it are explored.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    leno_kernel::layer::world::point(leno_kernel::log::Operation::Receive, None);
}

mod bound;
mod cores;
#[doc(hidden)]
pub mod laps;
mod line;
mod lock;
mod monitor;
mod process;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
mod rendezvous;
mod safepoint;
mod section;
mod semaphore;
mod slices;
mod system;
mod versioned;
mod watchdog;

pub use bound::{Bound, BoundBack, BoundError};
pub use cores::Core;
pub use leno_context::interrupt::GuardedAllocator;
pub use leno_kernel::{
    AttachError, Attached, Back, Budget, BuildError, Co, Exiting, JoinHandle, LocalSystem, Name,
    NoPreempt, Options, Sink, SpawnError, Unsupported, can_preempt_anywhere, charge, no_preempt,
    preempt_anywhere,
};
pub use leno_macros::{preemptible, process};
pub use lock::{Held, Lock, Locked};
pub use monitor::{Condition, Inside, Monitor};
pub use process::{
    Address, Answer, Ended, Failure, Me, Plan, Prepared, Process, Refusal, Refused, Reply,
    ReplyError, Status, Supervision,
};
pub use rendezvous::{AcceptError, CallError, Caller, Entry, Guarded, Task};
pub use safepoint::{Counted, Preemptible};
pub use semaphore::Semaphore;
pub use slices::{Slices, SlicesError};
pub use system::{System, SystemBuilder};
pub use versioned::{Reader, Writer, versioned};
pub use watchdog::{Missed, Place, Watchdog};
