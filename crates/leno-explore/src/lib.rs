//! Tests of concurrent code under many schedules, on the kernel that runs in production.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_explore::` as `leno::explore::`.
//!
//! [`explore`] runs a program again and again in a world of its own: its threads, the cores of its
//! systems, its time and all its choices are in the hands of a strategy. When a run fails, the
//! schedule is shrunk to a short one that fails in the same way, printed in words, and named by a
//! token with which it can be run again.
//!
//! What it controls: everything that goes through leno. Threads come from [`thread::spawn`]; what
//! coroutines and threads share should be leno's channels and locks, or cells that are used between
//! two operations. A lock of another library must not be held across an operation of leno.
//!
//! ```
//! use leno_explore::{Explorer, thread};
//! use leno_kernel::{park, unpark, LocalSystem, Reason};
//! use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
//! use std::sync::Arc;
//!
//! // A thread tells a coroutine that it is done. The wake-up must not be lost, whoever is first.
//! let seen = Explorer::new().exhaustive().run(|| {
//!     let done = Arc::new(AtomicBool::new(false));
//!     let system = LocalSystem::new();
//!     let flag = done.clone();
//!     let waits = system.spawn(move || {
//!         while !flag.load(SeqCst) {
//!             park(Reason::Io);
//!         }
//!     });
//!     let co = waits.co().unwrap();
//!     let other = thread::spawn("other", move || {
//!         done.store(true, SeqCst);
//!         unpark(co);
//!     });
//!     system.run().unwrap();
//!     other.join().unwrap();
//! });
//! assert!(seen.unwrap().is_complete());
//! ```
#![forbid(unsafe_code)]

mod environment;
mod explain;
mod explorer;
mod failure;
mod hook;
pub mod monitor;
mod recorder;
mod shrink;
mod strategy;
mod tell;
pub mod thread;

pub use explorer::{Explorer, Summary};
pub use failure::Failure;
pub use leno_kernel::layer::world::Trouble;
pub use monitor::Monitor;

/// Runs a program under a thousand schedules: half of them drawn by lot at every choice, half with
/// few, well-placed interruptions. See [`Explorer`] for other strategies.
///
/// Two variables of the environment help when a test has failed: `LENO_SEED` begins with another
/// seed, `LENO_REPLAY` runs a schedule by its token, whatever the strategy.
///
/// # Panics
/// When a run fails, with everything that is known about it.
///
/// # Examples
/// ```
/// leno_explore::explore(|| {
///     let system = leno_kernel::LocalSystem::new();
///     let sum = system.spawn(|| leno_kernel::spawn_local(|| 1).join().unwrap() + 1);
///     system.run().unwrap();
///     assert_eq!(sum.join().unwrap(), 2);
/// });
/// ```
#[track_caller]
pub fn explore(program: impl Fn() + Send + Sync + 'static) {
    Explorer::new().check(program);
}
