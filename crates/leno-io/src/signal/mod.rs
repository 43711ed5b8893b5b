//! Signals of the operating system, as a stream.
//!
//! ```
//! use leno_channel::{Select, shared};
//! use leno_io::signal::{Signal, Signals};
//!
//! let signals = Signals::new(&[Signal::Interrupt, Signal::Terminate])?;
//! let (done, finished) = shared::channel();
//! let work = std::thread::spawn(move || done.send("worked"));
//! let how = Select::new()
//!     .recv(&finished, |result| result.unwrap_or("lost"))
//!     .source(signals.recv_async(), |signal| signal.map_or("deaf", |_| "told to end"))
//!     .wait()?;
//! assert_eq!(how, "worked");
//! # work.join().unwrap().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From the first [`Signals`] on that wants a signal, that signal no longer does what it does by
//! default (most end the process), even after all of them are dropped. A signal that someone else
//! handles, [`dump_on_signal`](leno_kernel::dump_on_signal) say, is refused.

mod kind;
mod recv;

use core::fmt;
use core::time::Duration;
use std::io;
use std::os::fd::BorrowedFd;

use leno_kernel::Time;
use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::layer::deadline_in;

use crate::raw::signal::Ear;
pub use kind::Signal;
pub use recv::RecvFuture;

/// Hears signals, from when it is made on.
///
/// Any number of them may be there, up to 64, and each hears each signal it wants. Who waits at the same
/// one gets different signals. A signal that comes again before it was taken is heard once, as the system
/// has it.
///
/// # Examples
/// ```
/// use leno_io::signal::{Signal, Signals};
/// use leno_kernel::{LocalSystem, spawn_local};
///
/// let system = LocalSystem::new();
/// let heard = system.spawn(|| {
///     let signals = Signals::new(&[Signal::User2])?;
///     let own = std::process::id().to_string();
///     std::process::Command::new("kill").args(["-USR2", &own]).spawn()?.wait()?;
///     signals.recv()
/// });
/// system.run()?;
/// assert_eq!(heard.join()??, Signal::User2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Signals {
    // Dropped first: the ear's eventfd is used again.
    descriptor: Descriptor<BorrowedFd<'static>>,
    ear: Ear,
    wanted: Vec<Signal>,
}

impl Signals {
    /// Hears these signals from now on.
    ///
    /// # Errors
    /// When someone else handles one of them; when there are too many [`Signals`]; when the calling
    /// coroutine's platform refuses real I/O, as virtual time does.
    pub fn new(signals: &[Signal]) -> io::Result<Signals> {
        leno_kernel::io::permit()?;
        let numbers: Vec<_> = signals.iter().map(|signal| signal.number()).collect();
        let ear = Ear::new(&numbers)?;
        let descriptor = Descriptor::new(ear.eventfd())?;
        Ok(Signals { descriptor, ear, wanted: signals.to_vec() })
    }

    /// Waits for the next signal.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses [`Self::recv_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it waits no more, and its stack unwinds.
    ///
    /// # Errors
    /// When the platform refuses, or while the coroutine's own stack unwinds, if it would have to wait.
    ///
    /// # Panics
    /// Inside a future that a core polls.
    #[track_caller]
    pub fn recv(&self) -> io::Result<Signal> {
        self.recv_until(None)
    }

    /// The same, for at most `limit`.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::recv`].
    ///
    /// # Panics
    /// As [`Self::recv`].
    ///
    /// # Examples
    /// ```
    /// use leno_io::signal::{Signal, Signals};
    /// use std::time::Duration;
    ///
    /// let signals = Signals::new(&[Signal::Hangup])?;
    /// let error = signals.recv_timeout(Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(error.to_string(), "the time is over in which to hear a signal");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> io::Result<Signal> {
        self.recv_until(Some(deadline_in(limit))).map_err(|error| match error.kind() {
            kind @ io::ErrorKind::TimedOut => {
                io::Error::new(kind, "the time is over in which to hear a signal")
            }
            _ => error,
        })
    }

    #[track_caller]
    fn recv_until(&self, deadline: Option<Time>) -> io::Result<Signal> {
        loop {
            if let Some(signal) = self.try_recv() {
                return Ok(signal);
            }
            self.descriptor
                .io_with(Interest::READ, deadline, |eventfd| Ok((hush(eventfd)?, true)))?;
        }
    }

    /// The next signal, if one was heard.
    ///
    /// # Examples
    /// ```
    /// use leno_io::signal::{Signal, Signals};
    ///
    /// assert_eq!(Signals::new(&[Signal::Hangup])?.try_recv(), None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_recv(&self) -> Option<Signal> {
        let (number, more) = self.ear.take()?;
        if more {
            // For whoever else waits here. It fails only if there were too many, which are enough.
            let _ = rustix::io::write(self.ear.eventfd(), &1_u64.to_ne_bytes());
        }
        Some(Signal::from_number(number).expect("only those are asked for"))
    }

    /// As [`Self::recv`], for a future; also something a select can wait for.
    ///
    /// # Examples
    /// ```
    /// use leno_io::signal::{Signal, Signals};
    ///
    /// let signals = Signals::new(&[Signal::User1])?;
    /// let own = std::process::id().to_string();
    /// std::process::Command::new("kill").args(["-USR1", &own]).spawn()?.wait()?;
    /// assert_eq!(leno_kernel::block_on(signals.recv_async())?, Signal::User1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recv_async(&self) -> RecvFuture<'_> {
        RecvFuture::new(self)
    }

    /// Takes what is known, without waiting: for those who wait by other means.
    fn look(&self) -> Option<io::Result<Signal>> {
        loop {
            if let Some(signal) = self.try_recv() {
                return Some(Ok(signal));
            }
            match self.descriptor.try_io(Interest::READ, hush) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Forgets that it was rung.
fn hush(eventfd: &BorrowedFd<'_>) -> io::Result<()> {
    rustix::io::read(eventfd, &mut [0; 8])?;
    Ok(())
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signals").field(&self.wanted).finish()
    }
}
