//! All unsafe code of this crate.
//!
//! A coroutine is a [`core::Core`], through which its frames talk to whoever drives it, and a stack of
//! frames, each a future of its own. Three claims, a module each:
//! - `link`: a frame reaches its core through a pointer. The core outlives the frames, and one thread at
//!   a time has both. All fields are cells, so it does not matter who else looks at them.
//! - `frame`: a future stays where it is until it is done; then its result is in its place.
//! - `lent`: the context is borrowed by whoever drives, and reached only while it does.

pub(crate) mod core;
pub(crate) mod frame;
pub(crate) mod lent;
pub(crate) mod link;
