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
//! # What no library of stackful coroutines can prevent
//! Rust's thread-locals, and scoped values built on them, rely on an order of calls that a suspension
//! inside of them breaks: a frame is left without having returned. The compiler does not see that, so three
//! kinds of safe programs are undefined behaviour. This holds for stackful coroutines in Rust generally,
//! in every library. What suspends inside of such code is yours to avoid; coroutine-locals ([`Local`]) have
//! none of these limits.
//!
//! 1. **The initialiser of a `thread_local!` suspends**, and another coroutine of the thread initialises it
//!    meanwhile. The first one then replaces a value that others may refer to. Not noticed.
//!
//! ```no_run
//! # use leno_coroutine as leno;
//! thread_local!(static NAME: String = {
//!     leno::ring::yield_now(); // others run, and use NAME
//!     "late".to_owned()
//! });
//! # NAME.with(|_| ());
//! ```
//!
//! 2. **A coroutine that is suspended inside of `LocalKey::with` is forgotten**, and the thread ends: the
//!    thread-local goes, while threads that the coroutine has lent the value to
//!    (`std::thread::scope`) go on. leno does not unwind the coroutine then, and says on stderr that the
//!    thread has ended with coroutines alive, and where they were created.
//!
//! ```no_run
//! # use leno_coroutine as leno;
//! thread_local!(static NAME: String = "a name".to_owned());
//!
//! let co = leno::Coroutine::<(), ()>::new(|co, ()| {
//!     NAME.with(|name| {
//!         std::thread::scope(|threads| {
//!             threads.spawn(|| println!("{name}"));
//!             co.suspend(()); // the scope has not returned
//!         })
//!     })
//! });
//! co.resume(());
//! std::mem::forget(co); // it never will
//! ```
//!
//! 3. **A value that is set for the time of a call** (`scoped-tls`, and whatever else puts a reference into a
//!    thread-local and takes it out again) **is set by several coroutines**, which leave the calls in another
//!    order than they made them. The last one puts back a reference to what is gone. Not noticed.
//!
//! ```ignore (needs the crate scoped-tls)
//! scoped_tls::scoped_thread_local!(static NAME: String);
//!
//! let new = |name: &'static str| leno::Coroutine::<(), ()>::new(move |co, ()| {
//!     let name = name.to_owned();
//!     NAME.set(&name, || co.suspend(())); // puts back what was set before
//! });
//! let (a, b) = (new("a"), new("b"));
//! a.resume(()); // sets a's
//! b.resume(()); // sets b's
//! a.resume(()); // puts back nothing; a's name is dropped
//! b.resume(()); // puts back a's
//! ```
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
