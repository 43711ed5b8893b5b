//! Tests of systems through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. In binaries of their own are `dump`, which looks at all systems of its
//! process, `idle`, which reads the CPU time of its process, `signal`, which starts processes, `world`, whose
//! worlds change the whole process, and `stress`, which is also built with optimisations.

mod attach;
mod blocking;
mod chain;
mod hand_on;
mod heritage;
mod hooks;
mod io;
mod io_spent;
mod io_threads;
mod items;
mod ledger;
mod local;
mod log;
mod movable;
mod policies;
mod queue;
mod rules;
mod scope;
mod sections;
mod support;
mod system;
mod unbroken_clocks;
mod unbroken_ends;
mod unbroken_exits;
mod unbroken_policies;
mod unbroken_scopes;
mod unbroken_waits;
mod wakers;
