//! Systems of coroutines: who can run, who runs next, who waits for what.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_kernel::` as `leno::kernel::`.
//!
//! - [`LocalSystem`]: coroutines of one thread, one at a time.
//! - [`System`]: several cores in parallel; bodies are `Send`.
//! - Bodies are closures with a stack, or futures; both behave alike.
//! - [`scope`]: coroutines that borrow from the one that spawns them.
//! - [`Waiter`], [`park`] and [`unpark`]: everything that can be waited on is made of these.
//! - [`policy`]: who runs next, and every other choice, is user code.
//! - [`Platform`]: real or virtual time.
//! - [`io`]: waiting for file descriptors.
//! - [`layer`]: what authors of layers need, channels and I/O for instance; programs do not.
//! - [`report`]: what has become of everyone; [`dump`](mod@dump): what everyone is doing, and where.
#![deny(unsafe_code)]

mod alarm;
mod alive;
mod ask;
mod attach;
mod block_on;
mod blocking;
mod budget;
mod caller;
mod clock;
mod co;
mod core;
pub mod dump;
mod error;
mod frames;
pub mod io;
mod join;
pub mod layer;
mod local;
pub mod log;
#[cfg(all(test, loom))]
mod loom_tests;
mod mailbox;
#[cfg(target_os = "linux")]
mod on_signal;
mod options;
pub mod policy;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
pub mod report;
mod sign;
mod spawn;
mod state;
mod sync;
mod system;
mod timers;
mod wait;
mod watch;
mod window;

pub use attach::{AttachError, Back, Sink, attach};
pub use block_on::{block_on, try_block_on};
pub use blocking::{blocking, help};
pub use budget::{Attached, Budget, NoPreempt, charge, no_preempt, units_left};
pub use caller::{can_park, has_thread_number};
pub use clock::{Platform, RealTime, Time, VirtualTime};
pub use co::{Co, Object};
pub use dump::dump_all;
pub use error::{BuildError, CoresError, Exiting, SpawnError};
pub use join::{JoinError, JoinHandle};
use layer::{bell, heritage, ledger, queue, user, world};
pub use leno_context::Name;
pub use leno_context::interrupt::Unsupported;
pub use local::{LocalBuilder, LocalSystem, Quiescence};
#[cfg(target_os = "linux")]
pub use on_signal::dump_on_signal;
pub use options::{Options, Start};
pub use raw::anywhere::{can_preempt_anywhere, preempt_anywhere};
pub use raw::scope::{Scope, ScopedHandle, scope};
pub use spawn::{
    spawn, spawn_future, spawn_local, spawn_local_future, try_spawn, try_spawn_future,
    try_spawn_local,
};
pub use state::{Outcome, Reason, State};
pub use system::{System, SystemBuilder};
pub use wait::{
    Waiter, Wake, cancel, current, exit, now, park, park_until, sleep, unpark, yield_now,
};
pub use watch::{Overdue, Watch};
