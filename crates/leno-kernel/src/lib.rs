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
//! - [`report`]: what has become of everyone; [`dump`](mod@dump): what everyone is doing, and where.
#![deny(unsafe_code)]

mod alarm;
mod alive;
mod ask;
mod attach;
pub mod bell;
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
pub mod heritage;
pub mod io;
mod join;
pub mod ledger;
mod local;
pub mod log;
#[cfg(all(test, loom))]
mod loom_tests;
mod mailbox;
#[cfg(target_os = "linux")]
mod on_signal;
mod options;
pub mod policy;
pub mod queue;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
pub mod report;
mod sign;
mod spawn;
mod state;
mod sync;
mod system;
mod timers;
pub mod user;
mod wait;
mod watch;
mod window;
pub mod world;

pub use self::core::{bell_to_listen_at, listen, listen_at};
pub use alarm::Alarm;
pub use attach::{AttachError, Back, Sink, attach};
pub use block_on::{block_on, try_block_on};
pub use blocking::{blocking, help};
pub use budget::{
    Attached, Budget, NoPreempt, charge, charge_later, count_operation, no_preempt, units_left,
};
pub use caller::{
    can_park, current_on_own_stack, current_stack, current_system, has_policy, has_thread_number,
    lodger, thread_number, who,
};
pub use clock::{Platform, RealTime, Time, VirtualTime};
pub use co::{Co, Object};
pub use dump::dump_all;
pub use error::{BuildError, CoresError, Exiting, SpawnError};
pub use join::{JoinError, JoinHandle};
pub use leno_context::Name;
pub use leno_context::interrupt::Unsupported;
#[doc(hidden)]
pub use leno_context::is_planted;
pub use local::{LocalBuilder, LocalSystem, Quiescence};
#[cfg(target_os = "linux")]
pub use on_signal::dump_on_signal;
pub use options::{Options, Start};
pub use raw::anywhere::{can_preempt_anywhere, preempt_anywhere};
pub use raw::scope::{Scope, ScopedHandle, scope};
pub use sign::{Shown, Sign, park_on, park_on_until};
pub use spawn::{
    spawn, spawn_future, spawn_local, spawn_local_future, try_spawn, try_spawn_future,
    try_spawn_local,
};
pub use state::{Outcome, Reason, State};
pub use system::{System, SystemBuilder};
pub use wait::{
    Waiter, Wake, call, cancel, choose, common_now, current, deadline_in, exit, exit_as, give_way,
    now, park, park_deaf, park_until, parks, sleep, unpark, unpark_partner, unpark_with, yield_now,
};
pub use watch::{Overdue, Watch};
