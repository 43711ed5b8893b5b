//! Our end of a pipe to a child process.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::{Time, deadline_in};

use crate::streak::Streak;

/// How much is read at a time: as much as a pipe holds.
const PIECE: usize = 1 << 16;

/// What the three kinds of pipe have in common.
#[derive(Debug)]
pub(super) struct Pipe<T: AsFd> {
    descriptor: Descriptor<T>,
    /// In nanoseconds; 0 for none.
    timeout: AtomicU64,
    streak: Streak,
}

impl<T: AsFd> Pipe<T> {
    pub(super) fn new(inner: T) -> io::Result<Pipe<T>> {
        let descriptor = Descriptor::new(inner)?;
        Ok(Pipe { descriptor, timeout: AtomicU64::new(0), streak: Streak::default() })
    }

    pub(super) fn set_timeout(&self, timeout: Option<Duration>) {
        let nanos = timeout.map_or(0, |timeout| timeout.as_nanos().clamp(1, u64::MAX.into()));
        self.timeout.store(nanos as u64, Relaxed);
    }

    fn deadline(&self) -> Option<Time> {
        match self.timeout.load(Relaxed) {
            0 => None,
            nanos => Some(deadline_in(Duration::from_nanos(nanos))),
        }
    }

    #[track_caller]
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        self.streak.give_way();
        let result = self.descriptor.io_with(Interest::READ, self.deadline(), |pipe| {
            let count = rustix::io::read(pipe, &mut *into)?;
            Ok((count, 0 < count && count < into.len()))
        });
        result.inspect(|&count| self.streak.count(count))
    }

    pub(super) async fn read_async(&self, into: &mut [u8]) -> io::Result<usize> {
        self.streak.give_way_async().await;
        let read = |pipe: &T| {
            let count = rustix::io::read(pipe, &mut *into)?;
            Ok((count, 0 < count && count < into.len()))
        };
        let result = self.descriptor.io_async_with(Interest::READ, read).await;
        result.inspect(|&count| self.streak.count(count))
    }

    pub(super) async fn read_to_end_async(&self, all: &mut Vec<u8>) -> io::Result<usize> {
        let before = all.len();
        let mut piece = vec![0; PIECE];
        loop {
            match self.read_async(&mut piece).await {
                Ok(0) => return Ok(all.len() - before),
                Ok(count) => all.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[track_caller]
    pub(super) fn write(&self, from: &[u8]) -> io::Result<usize> {
        self.streak.give_way();
        let result = self.descriptor.io_with(Interest::WRITE, self.deadline(), |pipe| {
            let count = rustix::io::write(pipe, from)?;
            Ok((count, count < from.len()))
        });
        result.inspect(|&count| self.streak.count(count))
    }

    pub(super) async fn write_async(&self, from: &[u8]) -> io::Result<usize> {
        self.streak.give_way_async().await;
        let write = |pipe: &T| {
            let count = rustix::io::write(pipe, from)?;
            Ok((count, count < from.len()))
        };
        let result = self.descriptor.io_async_with(Interest::WRITE, write).await;
        result.inspect(|&count| self.streak.count(count))
    }

    pub(super) fn into_inner(self) -> T {
        self.descriptor.into_inner()
    }
}

impl<T: AsFd> AsFd for Pipe<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
