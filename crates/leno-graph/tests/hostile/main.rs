//! User code that panics, or uses the graph that calls it: nothing hangs, aborts or is lost to others.
#![forbid(unsafe_code)]

mod destructors;
mod exits;
#[path = "../graph/nodes.rs"]
#[allow(dead_code, unused_imports, clippy::type_complexity, reason = "shared with the other tests")]
mod nodes;
mod reentry;
