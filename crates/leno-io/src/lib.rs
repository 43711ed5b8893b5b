//! Sockets, files, processes, signals and time, for the three kinds of caller: coroutines park,
//! threads block, futures use the `_async` twins.
//!
//! Examples here name this crate; with `leno` as your dependency, read `leno_io::` as `leno::io::`.
//!
//! Names and shapes are those of `std`, so code written for `std::net` or `std::fs` moves here by its
//! imports, and whatever works with `Read` and `Write` works unchanged.
//!
//! - [`fs`]: files and folders, through io_uring where there is one.
//! - [`memory`]: a network in memory, to test servers on.
//! - [`net`]: TCP, UDP and Unix sockets, and the addresses of hosts.
//! - [`process`]: child processes and their pipes.
//! - [`signal`]: signals of the operating system, as a stream.
//! - [`time`]: sleeping, limits, beats.
//!
//! # Examples
//! ```
//! use leno_io::net::{TcpListener, TcpStream};
//! use leno_kernel::LocalSystem;
//! use std::io::{Read, Write};
//!
//! let system = LocalSystem::new();
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! drop(system.spawn(move || {
//!     let (mut stream, _) = listener.accept()?;
//!     stream.write_all(b"hello")
//! }));
//! let heard = system.spawn(move || {
//!     let mut text = String::new();
//!     TcpStream::connect(address)?.read_to_string(&mut text)?;
//!     Ok::<_, std::io::Error>(text)
//! });
//! system.run()?;
//! assert_eq!(heard.join()??, "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
// Not forbidden: io_uring and a signal handler need it, in `raw` alone. SAFETY.md has their rows.
#![deny(unsafe_code)]

pub mod fs;
mod limit;
pub mod memory;
mod named;
pub mod net;
mod os;
pub mod process;
#[allow(unsafe_code, reason = "the one place for it; see SAFETY.md")]
mod raw;
pub mod signal;
mod streak;
mod text;
pub mod time;
mod user;
