//! The primitives of protocols where threads meet: the real ones, or loom's, which tries every
//! interleaving (`--cfg loom`).

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicU32, Ordering},
    thread::yield_now as spin_loop,
};
