//! Tests of channels, selects and locks through the public interface, in one binary, which is built and
//! linked once.
//!
//! They run at the same time. In binaries of their own are `allocations`, which has an allocator of its own,
//! and `stress`, which is also built with optimisations.

mod across_threads;
mod channel;
mod descriptor;
mod dump;
mod giving_up;
mod hostile;
mod join;
mod left_open;
mod listening;
mod lock;
mod model;
mod panics;
mod select;
mod sources;
mod spurious;
mod stackless;
mod stolen;
mod support;
mod unwinding;
