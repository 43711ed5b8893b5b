//! Coroutines that threads can call (Dovland 2006).
//!
//! - [`System`]: coroutines of which at most one is active, and threads beside them.
//! - [`Flexible`]: a coroutine, for those who call or kick it, from any thread.
//! - [`Me`]: the same for its own body: detach, resume, passivate, yield.
//! - [`Threadless`]: a system without a thread of its own, for bodies that are futures ([`AsyncMe`]):
//!   whoever calls runs them.
//! - [`spinning`] and [`Builder::attached_only`]: shapes, which combine.
//! - [`policy`]: who is active next, and whose call is served next, is user code.
//! - [`Snapshot`]: who is doing what, who waits for whom. [`Event`]: each rule as it is applied.
//! - [`synchroniser`]: built from them: locks for readers and writers, rendezvous, semaphores, monitors, chords.
//! - [`model`]: the rules, as a program that can be run, explored and compared with.
//!
//! ```
//! use leno_flexible::{Me, System};
//!
//! let system = System::new();
//! let sum = system.create("sum", |me: &mut Me<i32, i32>| {
//!     let mut sum = 0;
//!     loop {
//!         sum += me.parameter().unwrap_or(0);
//!         me.detach(sum);
//!     }
//! });
//! assert_eq!(sum.call(3)?, 3); // from any thread, or from another coroutine
//! sum.kick()?; // nobody waits for the answer
//! assert_eq!(sum.call(4)?, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod async_builder;
mod async_me;
mod builder;
mod call;
mod call_future;
mod error;
mod event;
mod flexible;
mod helm;
mod me;
pub mod model;
mod party;
pub mod policy;
mod rule;
mod scheduler;
mod shared;
mod snapshot;
mod state;
pub mod synchroniser;
mod system;
mod table;
mod threadless;
mod turn;

pub use async_builder::AsyncBuilder;
pub use async_me::{AsyncMe, spinning_async};
pub use builder::Builder;
pub use call_future::CallFuture;
pub use error::{CallError, Failure, Refusal};
pub use event::{Event, What};
pub use flexible::Flexible;
pub use me::{Me, spinning};
pub use party::Party;
pub use rule::Rule;
pub use snapshot::{Blocked, Seen, Snapshot};
pub use state::{Label, State};
pub use system::{System, SystemBuilder};
pub use threadless::Threadless;
