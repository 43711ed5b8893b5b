//! Pictures of what happened in a system, and of who waits for what.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_picture::` as `leno::picture::`.
//!
//! | picture | of | for |
//! | --- | --- | --- |
//! | [`timeline`] | a [`Log`](leno_kernel::log::Log) | any browser: one HTML file that needs nothing else |
//! | [`chrome`] | a log | `ui.perfetto.dev` and `chrome://tracing`: a trace in JSON |
//! | [`waits`] | a [`Report`](leno_kernel::report::Report) | any browser: an SVG, circles in red |
//! | [`flow`] | a graph of nodes and channels | any browser: an SVG, with numbers |
//!
//! A log as text is its `Display`, in `leno-kernel`.
//!
//! ```
//! use leno_kernel::log::mark;
//! use leno_kernel::{LocalSystem, Options, Reason, park, unpark};
//! use leno_picture::{Names, chrome, timeline, waits};
//!
//! let system = LocalSystem::builder().virtual_time().log(10_000).build();
//! let cook = system.spawn_with(&Options::new().name("cook"), || {
//!     park(Reason::Passive);
//!     mark("dinner is ready");
//! })?;
//! let cook = cook.co().expect("it is on this core");
//! drop(system.spawn_with(&Options::new().name("waiter"), move || unpark(cook))?);
//!
//! let before = waits(&system.report(), &Names::new());
//! system.run()?;
//! let page = timeline(&system.log(), &Names::new());
//! let trace = chrome(&system.log(), &Names::new());
//! assert!(before.contains("waiter") && page.contains("dinner is ready") && trace.contains("cook"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The `leno` command writes all three of a small pipeline: `leno trace --help`. docs/pictures.md of the
//! project says how to read a timeline.
//!
//! # What a picture cannot know
//!
//! - Which value went where is not in the log. Channels are first in, first out: the nth send on one belongs
//!   to its nth receive, if the log has all of them. Where events were lost, or more was received
//!   than sent (someone outside sends), no value is drawn rather than a wrong one.
//! - A log does not know what channels and locks are called: give [`Names`].
//! - Events of several cores are merged by time; a value may seem to arrive before it was sent, by as much
//!   as writing an event takes.
#![forbid(unsafe_code)]

mod chrome;
mod escape;
pub mod flow;
mod layout;
mod names;
mod story;
mod timeline;
mod waits;
mod words;

pub use chrome::chrome;
pub use names::Names;
pub use timeline::timeline;
pub use waits::waits;
