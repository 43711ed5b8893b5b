//! Coroutines that threads can call (Dovland 2006).
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_flexible::` as `leno::flexible::`.
//!
//! - [`System`]: coroutines of which at most one is active, and threads beside them.
//! - [`Flexible`]: a coroutine, for those who call or kick it, from any thread.
//! - [`Me`]: the same for its own body: detach, resume, passivate, yield.
//! - [`Threadless`]: a system without a thread of its own, for bodies that any thread may go on with: futures
//!   ([`AsyncMe`]), or, by an `unsafe` promise, ordinary code with a stack ([`MigrantMe`]). Whoever calls runs
//!   them.
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
//!
//! # What each operation does
//!
//! | operation | by | whoever performs it | the one it is about |
//! | --- | --- | --- | --- |
//! | [`call`](Flexible::call) | anyone | waits for the answer | is attached, and runs |
//! | [`kick`](Flexible::kick) | anyone | goes on | runs some time, for nobody in particular |
//! | [`prod`](Flexible::prod) | anyone | goes on | runs; or, if it is busy, its next passivate is over at once |
//! | [`detach`](Me::detach) | a body | is idle, and attached to nobody | its caller has the answer, and goes on |
//! | [`passivate`](Me::passivate) | a body | is idle, and still attached | its caller waits on |
//! | [`yield_now`](Me::yield_now) | a body | waits for its next turn | |
//! | [`resume`](Me::resume) | a body | is idle | runs next |
//!
//! # What to know first
//!
//! - A coroutine does nothing until it is called, kicked or resumed. A body that has ended is not called again: one
//!   that serves again and again has a loop, or is [`spinning`].
//! - A body names its types: `|me: &mut Me<Question, Answer>|`. What it is called with, it has by
//!   [`Me::parameter`]: once for each call, and `None` if it was kicked.
//! - A body may end while someone has called it. Then that one gets what [`Me::answer`] was given, or `()` if that is
//!   the type of the answer, or the error [`CallError::NoAnswer`].
//! - Threads that call a busy coroutine queue up. A coroutine of the same system that does so is refused, since it
//!   might wait for itself; [`Flexible::call_wait`] lets it queue up, too.
//! - A body that blocks its thread (a lock of `std`, a sleep of `std`) keeps all of its system from running. leno's own
//!   channels, locks and sleeps only park it, and others run meanwhile.
//! - Two coroutines that know each other: the first gets the handle of the second in a
//!   [`OnceLock`](std::sync::OnceLock), or as a parameter.
//! - If nothing happens any more, print [`System::snapshot`]: it says who waits for whom.
//!
//! To wait for a condition, look, and passivate while it does not hold; whoever makes it true prods:
//!
//! ```
//! use leno_flexible::{Me, System};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
//!
//! let system = System::new();
//! let green = Arc::new(AtomicBool::new(false));
//! let seen = green.clone();
//! let light = system.create("light", move |me: &mut Me<u32, String>| {
//!     let mut car = None;
//!     loop {
//!         car = me.parameter().or(car); // another one, if the first has given up
//!         if seen.load(SeqCst) {
//!             me.detach(format!("car {} may go", car.take().unwrap_or(0)));
//!         } else {
//!             me.passivate(); // whoever has called waits on
//!         }
//!     }
//! });
//! let own = light.clone();
//! let car = std::thread::spawn(move || own.call(7));
//! green.store(true, SeqCst);
//! light.prod()?; // not lost, whenever it comes
//! assert_eq!(car.join().unwrap()?, "car 7 may go");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

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
mod migrant_me;
pub mod model;
mod party;
pub mod policy;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
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
pub use migrant_me::{MigrantMe, spinning_migrant};
pub use party::Party;
pub use rule::Rule;
pub use snapshot::{Blocked, Seen, Snapshot};
pub use state::{Label, State};
pub use system::{System, SystemBuilder};
pub use threadless::Threadless;
