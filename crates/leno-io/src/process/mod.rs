//! Child processes, for coroutines, threads and futures alike; the names are those of `std::process`.
//!
//! Pipes to a child are watched by the reactor of the core that waits, as sockets are; and so is its
//! end, by a pidfd. Where the system has none, a helper thread waits.
//!
//! A child leaves no zombie, even if its [`Child`] is dropped before it ends.
//!
//! # Examples
//! ```
//! use leno_io::process::{Command, Stdio};
//! use leno_kernel::LocalSystem;
//! use std::io::{BufRead, BufReader, Write};
//!
//! let system = LocalSystem::new();
//! let sorted = system.spawn(|| {
//!     let mut sort = Command::new("sort").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//!     let mut input = sort.stdin.take().expect("it is piped");
//!     input.write_all(b"two\none\n")?;
//!     drop(input);
//!     let output = BufReader::new(sort.stdout.take().expect("it is piped"));
//!     let lines = output.lines().collect::<Result<Vec<_>, _>>()?;
//!     sort.wait()?;
//!     Ok::<_, std::io::Error>(lines)
//! });
//! system.run()?;
//! assert_eq!(sorted.join()??, ["one", "two"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod child;
mod command;
mod orphan;
mod output;
mod pipe;
mod stdio;
#[cfg(test)]
mod tests;

pub use child::Child;
pub use command::Command;
pub use std::process::{ExitStatus, Output, Stdio};
pub use stdio::{ChildStderr, ChildStdin, ChildStdout};
