//! Systems of coroutines: who can run, who runs next, who waits for what.
//!
//! - [`LocalSystem`]: coroutines of one thread, one at a time.
//! - [`System`]: several cores in parallel; bodies are `Send`.
//! - Bodies are closures with a stack, or futures; both behave alike.
//! - [`scope`]: coroutines that borrow from the one that spawns them.
//! - [`Waiter`], [`park`] and [`unpark`]: everything that can be waited on is made of these.
//! - [`policy`]: who runs next, and every other choice, is user code.
//! - [`Platform`]: real or virtual time.
#![deny(unsafe_code)]

mod alarm;
pub mod bell;
mod block_on;
mod blocking;
mod caller;
mod clock;
mod co;
mod core;
mod error;
mod join;
mod local;
#[cfg(all(test, loom))]
mod loom_tests;
mod mailbox;
pub mod policy;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
pub mod report;
mod spawn;
mod state;
mod sync;
mod system;
mod timers;
mod wait;

pub use alarm::Alarm;
pub use block_on::{block_on, try_block_on};
pub use blocking::blocking;
pub use caller::has_policy;
pub use clock::{Platform, RealTime, Time, VirtualTime};
pub use co::{Co, Object};
pub use error::{BuildError, CoresError, Exiting, SpawnError};
pub use join::{JoinError, JoinHandle};
pub use leno_context::Name;
pub use local::{LocalBuilder, LocalSystem, Quiescence};
pub use raw::scope::{Scope, ScopedHandle, scope};
pub use spawn::{
    Options, spawn, spawn_future, spawn_local, spawn_local_future, try_spawn, try_spawn_local,
};
pub use state::{Outcome, Reason, State};
pub use system::{System, SystemBuilder};
pub use wait::{
    Waiter, Wake, cancel, choose, current, deadline_in, exit, now, park, park_until, sleep, unpark,
    yield_now,
};
