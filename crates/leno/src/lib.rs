//! Coroutines with stacks of their own: ordinary code that suspends anywhere, even deep in calls,
//! and later goes on from there.
//!
//! ```
//! use leno::{Coroutine, Suspender};
//!
//! // A generator over recursive code. Types are named where a function needs them; closures
//! // handed to a constructor find theirs.
//! fn moves(co: &Suspender<(), (char, char)>, discs: u32, from: char, over: char, to: char) {
//!     if discs > 0 {
//!         moves(co, discs - 1, from, to, over);
//!         co.suspend((from, to));
//!         moves(co, discs - 1, over, from, to);
//!     }
//! }
//! let hanoi = Coroutine::new(|co, ()| moves(co, 3, 'a', 'b', 'c'));
//! let first: Vec<_> = hanoi.iter().take(3).collect();
//! assert_eq!(first, [('a', 'c'), ('a', 'b'), ('c', 'b')]);
//! assert_eq!(hanoi.iter().count(), 4);
//! ```
//!
//! Each module below is a crate of its own, whose examples name that crate: with `leno` as your dependency, read
//! `leno_kernel::` as `leno::kernel::`, and `leno_coroutine::` as `leno::`.
//!
//! # Where to look
//! - [`Coroutine`]: runs when it is resumed, until its body suspends through its [`Suspender`] or
//!   ends. [`Builder`] gives it a name or another stack size, [`Unstarted`] carries its body to
//!   another thread.
//! - [`ring`]: coroutines that pass control among themselves.
//! - [`scope()`] and [`ring::scope`]: coroutines that borrow. They end before the scope returns.
//! - [`Local`]: a variable each coroutine has for itself. [`Status`]: what a coroutine is doing,
//!   from any thread.
//! - [`list`] and [`trace`]: who is alive, where it is suspended, what it does. [`check_stack`] and
//!   [`stack_left`] ask before an overflow, [`stack_figures`] what stacks there are.
//! - [`kernel`]: systems that decide who runs: on one core or several, by policies that are user
//!   code, in real or virtual time; bodies are closures or futures. [`kernel::io`] waits for file
//!   descriptors. [`block_on`] waits for a future, anybody's, in a coroutine or a thread.
//! - [`channel`]: values and signals between coroutines, threads and futures: channels, select,
//!   joins of several, timers, locks.
//! - [`fibre`], [`run`]: sequential code whose only wires are channels; a fibre that nobody can ever wake
//!   is removed. Chips, pipelines, circuits.
//! - [`io`]: sockets, files, processes, signals and time, in the shapes of `std`, for coroutines, threads
//!   and futures; [`io::memory`] is a network to test servers on.
//! - [`flexible`]: coroutines that threads can call, one active at a time: synchronisers and monitors
//!   without locks.
//! - [`frame`]: coroutines that can be stored, sent to another machine, and gone on with there.
//! - [`session`]: stored coroutines run by many processes, which may be killed at any moment; timers, messages,
//!   effects.
//! - [`mod@process`]: coroutines that are preempted when their budget is used up, by schedulers that are
//!   user code; processes with entries, monitors, rendezvous.
//! - [`graph`]: dataflow whose result cannot depend on the schedule, or may; sequential or parallel, checked
//!   before it runs.
//! - [`explore`]: tests that run a program under every schedule, and shrink and replay what fails.
//! - [`together`]: a graph as a part of a pipeline, a future as a part of a select; how layers are combined.
//! - [`picture`]: what happened in a system, as a timeline or a trace; who waits for what.
//! - [`migrate`] and [`shared`]: stealing by other threads, and very many coroutines on few stacks.
//!   Both ask for an `unsafe` promise.
//!
//! # Soundness
//! - A started coroutine never leaves its thread in safe code: [`Coroutine`] is neither `Send` nor
//!   `Sync`. One that has not started is an [`Unstarted`], which is `Send` if its closure is.
//! - Unscoped coroutines take `'static` types only, because a handle can be forgotten. A scope lets
//!   them borrow, and ends every child before it returns.
//! - A panic reaches whoever resumed the coroutine; that of a ring's member leaves its
//!   [`ring::scope`], unless [`ring::failures`] has taken it. Dropping a suspended coroutine
//!   unwinds it, so that destructors run; with `panic = "abort"` its stack is leaked instead (in a
//!   scope, the process is aborted with a message).
//! - Every stack has a guard: an overflow ends the process with the coroutine's name and where it
//!   was made.
//!
//! SAFETY.md of the project has each claim that unsafe code makes, the test that would notice, and
//! the known limits. The crates below this one are `leno-coroutine` and `leno-kernel`, which this one
//! re-exports, and `leno-context`, with stack memory and the switch.
//!
//! # What no library of stackful coroutines can prevent
//! Suspend neither in the initialiser of a `thread_local!`, nor inside of `LocalKey::with` or the like: std and other
//! libraries rely on these calls returning in the order in which they were made. Three kinds of safe programs are
//! undefined behaviour otherwise, in Rust generally; [the page of `leno_coroutine`][three] and the section of this name
//! in SAFETY.md show one of each. [`Local`] has none of these limits.
//!
//! [three]: leno_coroutine#what-no-library-of-stackful-coroutines-can-prevent
#![forbid(unsafe_code)]

pub use leno_coroutine::*;
pub use leno_fibre::run;
pub use leno_kernel::block_on;

pub mod together;

/// Makes a module of each layer.
///
/// A module and not `pub use leno_kernel as kernel`, because the compiler's messages would then say
/// `leno::leno_session::Wait` for what everybody writes as `leno::session::Wait`. Documentation is made of just that,
/// though: it shows the layer's overview and its attributes with all that is said of them in their own crates.
macro_rules! layers {
    ($($layer:ident = $member:ident $({ $($attributes:tt)* })?;)*) => {
        $(
            #[cfg(doc)]
            #[doc(inline)]
            pub use $member as $layer;

            #[cfg(not(doc))]
            #[allow(missing_docs, reason = "documented in its crate")]
            pub mod $layer {
                pub use $member::*;
                // A name says more than a glob: these are the layer's attributes for users of `leno`.
                $($($attributes)*)?
            }
        )*
    };
}

layers! {
    kernel = leno_kernel;
    channel = leno_channel;
    explore = leno_explore;
    fibre = leno_fibre;
    flexible = leno_flexible;
    graph = leno_graph;
    io = leno_io;
    picture = leno_picture;
    session = leno_session;
    frame = leno_frame { pub use leno_macros::resumable_in_leno as resumable; };
    process = leno_process {
        pub use leno_macros::{preemptible_in_leno as preemptible, process_in_leno as process};
    };
}

/// The project's page on testing, so that its example is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
struct Testing;

/// The project's README, so that its example is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The project's ledger of claims, so that the programs in it compile.
#[cfg(doctest)]
#[doc = include_str!("../../../SAFETY.md")]
struct Safety;

/// What is said of the attributes, so that its examples are tested.
#[cfg(doctest)]
mod attributes {
    #[doc = include_str!("../../leno-macros/docs/preemptible.md")]
    struct Preemptible;
    #[doc = include_str!("../../leno-macros/docs/process.md")]
    struct Process;
    #[doc = include_str!("../../leno-macros/docs/resumable.md")]
    struct Resumable;
}

/// The chapters of the book, so that their examples are tested.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../book/src/introduction.md")]
    struct Introduction;
    #[doc = include_str!("../../../book/src/first.md")]
    struct First;
    #[doc = include_str!("../../../book/src/layers.md")]
    struct Layers;
    #[doc = include_str!("../../../book/src/soundness.md")]
    struct Soundness;
    #[doc = include_str!("../../../book/src/policies.md")]
    struct Policies;
    #[doc = include_str!("../../../book/src/testing.md")]
    struct Testing;
    #[doc = include_str!("../../../book/src/storing.md")]
    struct Storing;
    #[doc = include_str!("../../../book/src/performance.md")]
    struct Performance;
    #[doc = include_str!("../../../book/src/from-go.md")]
    struct FromGo;
    #[doc = include_str!("../../../book/src/from-tokio.md")]
    struct FromTokio;
    #[doc = include_str!("../../../book/src/from-simula.md")]
    struct FromSimula;

    #[doc = include_str!("../../../docs/compare.md")]
    struct Compare;

    #[doc = include_str!("../../../docs/sessions.md")]
    struct Sessions;
}
