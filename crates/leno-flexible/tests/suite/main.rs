//! Tests of flexible coroutines through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. In binaries of their own are `outside`, which counts threads and memory of its process,
//! `threadless`, which is also built with optimisations, and `migratable`, which the leg of thread sanitizer builds
//! alone.

mod asked;
mod bad_use;
mod calls;
mod differential;
mod endings;
mod exits;
mod explored;
mod explored_threadless;
mod formatters;
mod hostile;
mod items;
mod kicked;
mod operations;
mod rings;
mod santa;
mod strays;
mod support;
mod synchroniser;
mod turns;
