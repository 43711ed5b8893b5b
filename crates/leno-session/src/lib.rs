//! Sessions: coroutines that outlive processes and machines.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_session::` as `leno::session::`.
//!
//! A session is a `#[resumable]` function that waits most of its time: for an answer, for a message of another
//! session, for a day to pass. While it waits it is a row in a [`Store`], of some hundred bytes; when what it waits
//! for is there, a worker of some process makes a step of it and stores it again, with all that the step does, in one
//! transaction. Processes may be killed at any moment: a step has happened as a whole or not at all.
//!
//! ```
//! use std::time::Duration;
//!
//! use leno_frame::{Co, resumable};
//! use leno_session::{Memory, Sessions, Stage, Wait};
//!
//! /// Suspends with what it waits for, goes on with an answer or without one, and has effects.
//! type Order = Co<Wait, Option<String>, Stage>;
//!
//! #[resumable]
//! async fn order(co: &mut Order, goods: String) -> String {
//!     co.ctx().effect("mail", format!("Do you want {goods}?"));
//!     match co.suspend(Wait::answer_within("yes or no?", Duration::from_secs(86_400))).await {
//!         Some(answer) if answer == "yes" => format!("{goods} are on their way"),
//!         _ => format!("no {goods} then"),
//!     }
//! }
//!
//! let sessions = Sessions::open(Memory::new()).register("order", order);
//! let id = sessions.start("order", &("apples",))?;
//! sessions.work_off()?;
//! sessions.deliver(10, |effect| {
//!     println!("{}: {}", effect.key(), String::from_utf8_lossy(&effect.body));
//!     Ok::<(), String>(())
//! })?;
//! sessions.answer(id, "yes")?;
//! assert_eq!(sessions.run(id)?.text(), "apples are on their way");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//! - [`Sessions`]: the engine. Register routines, start sessions, answer them, look at them; [`Sessions::workers`]
//!   and [`Sessions::work`] run them.
//! - [`Wait`], [`Wake`], [`FromWake`]: what a suspension means. [`Stage`]: what a step can do.
//! - [`store`]: the trait behind which sessions are kept, and its laws; [`laws`] checks them. [`Memory`], and with
//!   the features `sqlite` and `postgres` `Sqlite` and `Postgres`; [`store::open`] takes an address.
//!
//! # What is promised
//! Steps are made exactly once, as far as stored state goes: image, messages between sessions and effects are stored
//! together, by the holder of the session's lease alone. What steps do by other means is not known to the store, and
//! is done again if the process dies before the step is stored. Effects are delivered at least once, with a key.
//!
//! Workers outlive what steps, their values and stores raise. A session that keeps ending its process, or that is damaged in
//! the store, is quarantined, and harms no other: see [`Pace::attempts`] and [`Sessions::health`].
//!
//! Images may be read by a later build; what it cannot read is quarantined with a reason, keeps nobody waiting, and can be
//! retried by a build that can: see [`Kept`] and [`Sessions::retry_quarantined`].
#![forbid(unsafe_code)]

mod caught;
mod clock;
mod error;
mod health;
mod id;
mod inspect;
mod kind;
pub mod laws;
mod memory;
mod metrics;
mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
mod round;
mod row;
mod sessions;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stage;
mod step;
pub mod store;
mod text;
mod wait;
mod work;
mod workers;

pub use error::{SessionError, StoreError};
pub use health::Health;
pub use id::SessionId;
pub use kind::{Kept, SessionRoutine};
pub use memory::Memory;
pub use metrics::Metrics;
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresLimits};
pub use row::{Query, Row, State};
pub use sessions::{Pace, Sessions};
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub use stage::{Lent, Stage};
pub use store::{Effect, Sent, Store};
pub use wait::{FromWake, Json, Wait, Wake};
pub use workers::Workers;
