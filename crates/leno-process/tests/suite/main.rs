//! Tests of processes through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. In binaries of their own are `anywhere`, which has an allocator of its own and is also
//! built with optimisations, as is `bound`; `idle_core`, which reads the CPU time of its process; `watchdog`, which
//! watches all systems of its process; and `near` and `replies`, which the leg of thread sanitizer builds alone.

mod bare;
mod budget;
mod cores;
mod coroutines;
mod guards;
mod hostile;
mod hostile_locks;
mod locks;
mod migrants;
mod outside;
mod preemptible;
mod processes;
mod savina;
mod supervision;
mod support;
mod systems;
mod waits;
