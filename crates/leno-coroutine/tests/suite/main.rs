//! Tests of coroutines through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. A test whose subject is the whole process (the pool of stacks, resident
//! memory, the panic hook, an environment variable) runs itself again alone, with [`support::rerun`]. In
//! binaries of their own are `no_memory`, which has an allocator of its own, and `stress`, which counts
//! the stacks of its process.

mod asymmetric;
mod canary;
mod chain;
mod drain;
mod encodings;
mod endings;
mod errors;
mod failures;
mod flexible_basics;
mod iteration;
mod leaks;
mod listing;
mod locals;
mod locks;
mod migration;
mod names;
mod nesting;
mod overflow;
mod panic_abort;
mod ring;
mod ring_errors;
mod ring_model;
mod ring_sequences;
mod scope;
mod shared_members;
mod shared_stacks;
mod stacks;
mod support;
mod thread_exit;
mod threads;
mod tracing;
mod unwinding;
mod waiting;
