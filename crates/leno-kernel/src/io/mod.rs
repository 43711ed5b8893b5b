//! Waiting for file descriptors: for coroutines, threads and futures alike.
//!
//! A [`Descriptor`] wraps whatever owns a file descriptor: a socket, a pipe, one end of a terminal. It
//! makes it non-blocking, and lets its users wait until an operation is worth trying.
//!
//! - A coroutine parks. Its core's reactor (one epoll instance per core, made when first needed)
//!   watches the descriptor, and wakes it.
//! - A future leaves its waker; on another executor a helper thread watches.
//! - A plain thread blocks in poll(2).
//!
//! Whoever waits for a descriptor keeps its system open: the outside may wake it.
//!
//! Virtual time refuses descriptors, because nobody could say when something outside happens; so may
//! any [`Platform`](crate::Platform).
//!
//! # Examples
//! ```
//! use leno_kernel::LocalSystem;
//! use leno_kernel::io::{Descriptor, Interest};
//! use std::io::{Read, Write};
//! use std::os::unix::net::UnixStream;
//!
//! let (near, far) = UnixStream::pair()?;
//! let system = LocalSystem::new();
//! let reader = system.spawn(move || {
//!     let near = Descriptor::new(near)?;
//!     let mut buffer = [0; 8];
//!     let count = near.io(Interest::READ, |mut stream| stream.read(&mut buffer))?;
//!     Ok::<_, std::io::Error>(buffer[..count].to_vec())
//! });
//! let writer = system.spawn(move || {
//!     let far = Descriptor::new(far)?;
//!     far.io(Interest::WRITE, |mut stream| stream.write(b"hello"))
//! });
//! system.run()?;
//! assert_eq!(writer.join()??, 5);
//! assert_eq!(reader.join()??, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attend;
pub(crate) mod badge;
pub(crate) mod beacon;
mod caller;
mod descriptor;
mod future;
mod helper;
mod interest;
mod operation;
mod reactor;
mod registered;

pub(crate) use attend::{Attention, attend, end_others, poll_all};
pub use descriptor::Descriptor;
pub use future::WaitFuture;
pub(crate) use interest::Flags;
pub use interest::{Interest, Readiness};
pub use operation::IoFuture;
pub use reactor::Reactor;

/// Whether descriptors may be used by the calling code, as [`Descriptor::new`] would say.
///
/// # Errors
/// When the platform of the calling coroutine refuses, as virtual time does; in a world.
pub fn permit() -> std::io::Result<()> {
    caller::permit().map(drop)
}

/// What virtual time says.
pub(crate) fn refuse_virtual() -> std::io::Error {
    std::io::Error::new(
        std::io::ErrorKind::Unsupported,
        "real I/O in virtual time: nobody could say at which time something outside happens; use \
         real time, a channel in place of the descriptor, or a network in memory (`io::memory`)",
    )
}
