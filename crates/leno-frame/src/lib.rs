//! Coroutines that can be stored (Stadler 2011): suspended, written to disk, sent to another machine,
//! and gone on with there, in a new process and perhaps in a later build.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_frame::` as `leno::frame::`.
//!
//! `#[resumable]` stands on an `async fn` whose first parameter is a handle. It suspends by
//! `co.suspend(value).await`, and calls others of its kind by `.await`. [`Resumable`] runs it; while it is
//! suspended it is an array of frames, one for each function it is in, and an [`Image`] is that array
//! as bytes.
//!
//! ```
//! use leno_frame::{Co, Format, Image, Options, Resumable, State, resumable};
//!
//! type Dialogue = Co<String, String>; // asks questions, is given answers
//!
//! #[resumable]
//! async fn number(co: &mut Dialogue, question: String) -> u32 {
//!     loop {
//!         if let Ok(number) = co.suspend(question.clone()).await.parse() {
//!             return number;
//!         }
//!     }
//! }
//!
//! #[resumable]
//! async fn area(co: &mut Dialogue) -> u32 {
//!     let width = number(co, "width?".into()).await;
//!     width * number(co, "height?".into()).await
//! }
//!
//! let (mut asking, state) = Resumable::start(&mut (), area, ());
//! assert_eq!(state, State::Suspended("width?".into()));
//! let image = asking.snapshot(Format::Postcard)?;
//!
//! // Later, elsewhere.
//! let image = Image::from_bytes(image.into_bytes())?;
//! let mut asking = Resumable::restore(area, &image, &Options::new())?;
//! asking.resume(&mut (), "6".into());
//! assert_eq!(asking.resume(&mut (), "7".into()), State::Complete(42));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a body can do
//! Everything an async function can, as far as control flow and types go: calls and recursion, generics,
//! methods (put the attribute on the `impl` block; `self` by value), traits, loops, `match`, `if let`,
//! `let else`, labels, `?`, suspensions in the middle of expressions. Parameters and what is alive across a
//! suspension are data: serde can write and read them, and they own what they have ([`Persist`]).
//! Everything else is between suspensions: borrows, guards, closures. [`Ext`] names what is not data,
//! [`Shared`] keeps shared what several locals share, and `co.ctx()` is a context that each resume lends.
//! What cannot be stored does not compile, and the message says why and what to do. (Of a `&str` that is
//! held the compiler says that its owner does not live long enough, or that `Deserialize` is not general
//! enough: keep the owner, or a `String`.)
//!
//! Three things differ from a plain async function:
//! - A variable that is not used after a suspension is not in its frame: it is dropped there, not at the
//!   end of its scope. (One that looks like a guard, `let _guard = ..`, is refused.)
//! - A `for` loop whose body suspends goes over what can be stored half-way: see [`walk`].
//! - Macros are not looked into: an `.await` in their arguments or in what they expand to is refused, and so
//!   is a variable that a macro seems to declare, `declare!(x)`, if it is used after a suspension.
//!
//! # Images and later builds
//! A frame is found by the name of its function (its path, or `#[resumable(id = "name")]`), and its
//! suspension by its label: the name of the variable in `let name = ...await`, else of what is called, else
//! what `#[at("label")]` says. If several share a name, a digest of what is awaited is added to each; if that is
//! the same too, they are numbered in order, and `#[at("label")]` is how another one may come between them. So code
//! may change between suspensions, and suspensions may be added. If a function, a label or the type of a
//! local has changed, restoring is refused with an error that says what was found and what is known;
//! [`Options::rename`] and [`Options::migrate`] help. JSON images are read by name, so that serde's
//! defaults work; compact ones only if types are the same.
//!
//! An image holds the frames; [`Resumable::snapshot_with`] adds the value that the coroutine is suspended
//! with, so that whoever restores it can ask the same question again.
//!
//! Images are untrusted input: see [`Image::from_bytes`]. What a local's own `Deserialize` accepts is its
//! own business; if it panics, that is an error. An image that was edited can of course hold values that the
//! program would never have had.
//!
//! # Journals instead of frames
//! A coroutine that is a function of its inputs can also be stored as those inputs, and replayed: then it
//! needs no frames, and may be any code, also a stackful coroutine. It grows with each input, though, and
//! code may not change between them; see [`journal`], which notices. Raw stacks cannot be stored: they hold
//! addresses.
#![deny(unsafe_code)]

extern crate self as leno_frame;

mod describe;
mod drive;
mod error;
mod external;
mod handle;
mod image;
mod iterate;
pub mod journal;
pub mod json;
mod persist;
mod point;
#[allow(unsafe_code)]
mod raw;
mod resumable;
mod rewind;
mod routine;
mod scope;
mod shape;
mod shared;
mod store;
mod transfer;
pub mod walk;

pub use error::{ImageError, RestoreError, ResumeError, StoreError};
pub use external::Ext;
pub use handle::Co;
pub use image::{Format, FrameImage, Image, Options};
pub use iterate::{Iterate, iterate};
pub use leno_macros::resumable;
pub use persist::Persist;
pub use point::{Call, Point, Suspend};
pub use resumable::{Resumable, State};
pub use routine::{Entry, Routine};
pub use shared::Shared;

/// What generated code calls.
#[doc(hidden)]
pub mod internal {
    pub use crate::describe::{Function, Place};
    pub use crate::handle::{Handle, Seed};
    pub use crate::point::{Chosen, Step};
    pub use crate::routine::Args;
}
