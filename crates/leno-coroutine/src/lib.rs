//! Coroutines nobody schedules.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_coroutine::` as `leno::`.
//!
//! - [`Coroutine`]: an asymmetric coroutine. [`Coroutine::resume`] runs it until its body calls
//!   [`Suspender::suspend`], from however deep in calls, or ends. Generators, inverted parsers.
//! - [`ring`]: symmetric coroutines of one thread that pass control among themselves.
//! - [`scope`]: coroutines that borrow from their creator's frame.
//! - [`migrate`]: coroutines that another thread may take over (`unsafe`).
//! - [`shared`]: very many tiny idle coroutines on few stacks, by copying (`unsafe`).
//! - [`Local`]: a variable each coroutine has for itself.
//! - [`list`]: who is alive on this thread, and a backtrace of each.
//! - [`trace`]: every operation, as text.
//!
//! # Soundness
//! A started coroutine never leaves its thread: [`Coroutine`] is neither `Send` nor `Sync`. One
//! that has not started is an [`Unstarted`], which is `Send` when its closure is. A [`Status`]
//! may be read from anywhere. Unscoped coroutines take `'static` types only, because a handle can
//! be forgotten; borrowing needs a scope, which ends its children before it returns.
//!
//! A panic in a body reaches whoever resumed it; that of a ring's member leaves its scope, unless
//! [`ring::failures`] has taken it. A suspended coroutine that is dropped is unwound,
//! so destructors run; with `panic = "abort"` it cannot be, and its stack is leaked instead (in a
//! scope, the process is aborted with a message).
//!
//! All unsafe code of this crate is in modules named `raw`; SAFETY.md of the project lists it.
#![deny(unsafe_code)]

mod builder;
mod error;
mod iter;
pub mod list;
mod local;
pub mod migrate;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
pub mod ring;
pub mod shared;
mod step;
mod suspend;
mod sync;
pub mod trace;
mod unstarted;
mod unwind_safe;

pub use builder::Builder;
pub use error::{CreateError, Exiting, ResumeError};
pub use iter::{IntoIter, Iter, Iterable};
pub use leno_context::stack::{
    Figures, StackError, figures as stack_figures, guard::Guards, set_warm_limit,
};
pub use leno_context::{Name, State, Status, check_stack, overflow::stack_left};
pub use local::Local;
pub use raw::coroutine::Coroutine;
#[doc(hidden)]
pub use raw::floor;
pub use raw::scope::{Scope, ScopedCoroutine, scope};
pub use raw::suspender::Suspender;
pub use step::Step;
pub use suspend::{Mapped, Suspend};
pub use unstarted::{StartError, Unstarted};
