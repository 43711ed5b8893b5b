//! Tests of stored coroutines through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. In binaries of their own are `differential` and `untrusted`, which are also built with
//! optimisations.
#![forbid(unsafe_code)]

#[macro_use]
mod plain;

mod by_hand;
mod exits;
mod journal;
mod locks;
mod panics;
mod stacks;
mod store;
mod syntax;
mod thread_end;
mod versions;
mod yielded;
