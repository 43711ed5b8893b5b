//! Coroutines that share stacks by copying.
//!
//! Claims, beside those of [`super::coroutine`]:
//! - A coroutine runs only while its frames are on its home, at the addresses they always have.
//! - Values cross a switch through places that are not on a home: inputs through a slot on the
//!   heap, outputs through the frames of the coroutine, found in its buffer if it was moved there.
//! - What the compiler cannot see is the caller's promise (see [`Stacks::coroutine`]): nobody
//!   else keeps a pointer into the frames of a coroutine while it is suspended, or while another one runs that
//!   it has resumed; except behind `control::hold_frames`, which refuses that other one.

mod copier;
mod coroutine;
mod home;
pub(crate) mod member;
mod stacks;

pub use coroutine::Coroutine;
pub(crate) use home::Home;
pub use stacks::Stacks;
