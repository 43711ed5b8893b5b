//! The pipes of a child process: what it reads, and what it writes.

use core::time::Duration;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use super::pipe::Pipe;

/// To write what a child process reads. Dropping it tells the child that nothing more comes.
///
/// # Examples
/// ```
/// use leno_io::process::{Command, Stdio};
/// use std::io::{Read, Write};
///
/// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
/// let mut stdin = child.stdin.take().expect("it is piped");
/// stdin.write_all(b"Hello")?;
/// drop(stdin);
/// let mut text = String::new();
/// child.stdout.take().expect("it is piped").read_to_string(&mut text)?;
/// assert_eq!(text, "Hello");
/// assert!(child.wait()?.success());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ChildStdin(Pipe<std::process::ChildStdin>);

impl ChildStdin {
    pub(super) fn new(inner: std::process::ChildStdin) -> io::Result<ChildStdin> {
        Ok(ChildStdin(Pipe::new(inner)?))
    }

    /// For how long each write may take; `None` for as long as it needs. Futures have the same limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.0.set_timeout(timeout);
    }

    /// As [`Write::write`], for a future.
    ///
    /// # Errors
    /// As [`Write::write`].
    pub async fn write_async(&self, from: &[u8]) -> io::Result<usize> {
        self.0.write_async(from).await
    }

    /// As [`Write::write_all`], for a future.
    ///
    /// # Errors
    /// As [`Write::write_all`].
    pub async fn write_all_async(&self, mut from: &[u8]) -> io::Result<()> {
        while !from.is_empty() {
            match self.write_async(from).await {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => from = &from[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The pipe itself, which does not block.
    pub fn into_std(self) -> std::process::ChildStdin {
        self.0.into_inner()
    }
}

/// Parks the calling coroutine, or blocks the calling thread, while the pipe is full.
impl Write for &ChildStdin {
    #[track_caller]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.0.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for ChildStdin {
    #[track_caller]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.0.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for ChildStdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for ChildStdin {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// A pipe that is read from.
macro_rules! output {
    ($(#[$doc:meta])* $Pipe:ident of $Std:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Pipe(Pipe<$Std>);

        impl $Pipe {
            pub(super) fn new(inner: $Std) -> io::Result<$Pipe> {
                Ok($Pipe(Pipe::new(inner)?))
            }

            /// For how long each read may take; `None` for as long as it needs. Futures have the same limit.
            pub fn set_timeout(&self, timeout: Option<Duration>) {
                self.0.set_timeout(timeout);
            }

            /// As [`Read::read`], for a future.
            ///
            /// # Errors
            /// As [`Read::read`].
            pub async fn read_async(&self, into: &mut [u8]) -> io::Result<usize> {
                self.0.read_async(into).await
            }

            /// As [`Read::read_exact`], for a future.
            ///
            /// # Errors
            /// [`UnexpectedEof`](ErrorKind::UnexpectedEof) if the pipe ends before; else as [`Read::read`].
            pub async fn read_exact_async(&self, mut into: &mut [u8]) -> io::Result<()> {
                while !into.is_empty() {
                    match self.read_async(into).await? {
                        0 => return Err(ErrorKind::UnexpectedEof.into()),
                        count => into = &mut into[count..],
                    }
                }
                Ok(())
            }

            /// As [`Read::read_to_string`], for a future.
            ///
            /// # Errors
            /// [`InvalidData`](ErrorKind::InvalidData) if what comes is no text, which is lost then; else as
            /// [`Read::read`].
            pub async fn read_to_string_async(&self, all: &mut String) -> io::Result<usize> {
                let mut bytes = Vec::new();
                self.read_to_end_async(&mut bytes).await?;
                crate::text::append(all, bytes)
            }

            /// As [`Read::read_to_end`], for a future.
            ///
            /// # Errors
            /// As [`Read::read`]; what was read before is in `all`.
            pub async fn read_to_end_async(&self, all: &mut Vec<u8>) -> io::Result<usize> {
                self.0.read_to_end_async(all).await
            }

            /// The pipe itself, which does not block.
            pub fn into_std(self) -> $Std {
                self.0.into_inner()
            }
        }

        /// Parks the calling coroutine, or blocks the calling thread, while the pipe is empty.
        impl Read for &$Pipe {
            #[track_caller]
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0.read(into)
            }
        }

        impl Read for $Pipe {
            #[track_caller]
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0.read(into)
            }
        }

        impl AsFd for $Pipe {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.as_fd()
            }
        }

        impl AsRawFd for $Pipe {
            fn as_raw_fd(&self) -> RawFd {
                self.as_fd().as_raw_fd()
            }
        }
    };
}

output!(
    /// To read what a child process writes to its standard output.
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::{Command, Stdio};
    /// use std::io::Read;
    ///
    /// let mut child = Command::new("sh").args(["-c", "echo Hello"]).stdout(Stdio::piped()).spawn()?;
    /// let mut text = String::new();
    /// child.stdout.take().expect("it is piped").read_to_string(&mut text)?;
    /// assert_eq!(text, "Hello\n");
    /// assert!(child.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ChildStdout of std::process::ChildStdout
);

output!(
    /// To read what a child process writes to its standard error.
    ///
    /// # Examples
    /// ```
    /// use leno_io::process::{Command, Stdio};
    /// use std::io::Read;
    ///
    /// let mut child = Command::new("sh").args(["-c", "echo Hello >&2"]).stderr(Stdio::piped()).spawn()?;
    /// let mut text = String::new();
    /// child.stderr.take().expect("it is piped").read_to_string(&mut text)?;
    /// assert_eq!(text, "Hello\n");
    /// assert!(child.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ChildStderr of std::process::ChildStderr
);
