//! Sockets, files, processes, signals and time, for the three kinds of caller: coroutines park,
//! threads block, futures use the `_async` twins.
//!
//! Names and shapes are those of `std`, so code written for `std::net` or `std::fs` moves here by its
//! imports, and whatever works with `Read` and `Write` works unchanged.
#![deny(unsafe_code)]

pub mod fs;
pub mod process;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
pub mod signal;
mod streak;
pub mod time;
mod within;
