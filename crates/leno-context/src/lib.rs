//! Stack memory and the stack switch under leno's coroutines.
//!
//! This crate knows seven things and nothing about scheduling:
//!
//! - [`switch`]: leave one context, continue another. The only assembly of the project.
//! - [`stack`]: where stacks come from: slabs with guard pages, a bounded pool, its figures.
//! - [`control`]: the block at the top of every coroutine's stack: state, name, how to end it.
//! - [`interrupt`]: preempting code at any instruction, by a signal that injects a call.
//! - [`user`]: calls of user code, and the sections in which there must be none.
//! - [`last_words`]: messages that must not fail.
//! - [`overflow`]: a message instead of a segmentation fault, and [`check_stack`].
//!
//! It is the floor other crates of leno stand on, not an API for applications: nearly everything
//! is `unsafe` and the contracts are strict. Use the `leno` crate instead.
//!
//! Deliberately not here: typed coroutines, rings, scopes, migration (`leno-coroutine`), and
//! anything that decides who runs next.
//!
//! # Backends
//! x86_64 and aarch64 Linux switch natively. Under `--cfg leno_baton` (for tools that cannot
//! follow a stack switch, such as miri) every coroutine is an OS thread and a baton is passed;
//! see [`switch`] for what that backend cannot do.

#[cfg(not(any(
    leno_baton,
    all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))
)))]
compile_error!(
    "leno switches stacks on x86_64 and aarch64 Linux only; for checking tools on other targets \
     build with RUSTFLAGS=\"--cfg leno_baton\""
);

pub mod control;
mod here;
pub mod interrupt;
pub mod last_words;
mod name;
mod outermost;
pub mod overflow;
mod planted;
mod sanitizer;
pub mod stack;
mod status;
pub mod switch;
pub mod thread;
mod told;
pub mod unwind;
pub mod user;
pub mod word;

pub use here::Here;
pub use name::Name;
pub use overflow::check_stack;
#[doc(hidden)]
pub use planted::is_planted;
pub use status::{State, Status};
