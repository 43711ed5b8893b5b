//! Our end of a pipe to a child process.

use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use leno_kernel::io::Interest;

use crate::limit::Limit;
use crate::os::{Os, Tried};
use crate::time::within;

/// How much is read at a time: as much as a pipe holds.
const PIECE: usize = 1 << 16;

/// What the three kinds of pipe have in common.
#[derive(Debug)]
pub(super) struct Pipe<T: AsFd> {
    os: Os<T>,
    limit: Limit,
}

impl<T: AsFd> Pipe<T> {
    pub(super) fn new(inner: T) -> io::Result<Pipe<T>> {
        Ok(Pipe { os: Os::new(inner)?, limit: Limit::default() })
    }

    pub(super) fn set_timeout(&self, timeout: Option<Duration>) {
        self.limit.set(timeout.map(|timeout| timeout.max(Duration::from_nanos(1))));
    }

    #[track_caller]
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        self.os.io(Interest::READ, self.limit.deadline(), || self.try_read(into))
    }

    pub(super) async fn read_async(&self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.os.io_async(Interest::READ, || self.try_read(into));
        within(self.limit.deadline(), "read", read).await
    }

    pub(super) async fn read_to_end_async(&self, all: &mut Vec<u8>) -> io::Result<usize> {
        let before = all.len();
        let mut piece = vec![0; PIECE];
        loop {
            match self.read_async(&mut piece).await? {
                0 => return Ok(all.len() - before),
                count => all.extend_from_slice(&piece[..count]),
            }
        }
    }

    #[track_caller]
    pub(super) fn write(&self, from: &[u8]) -> io::Result<usize> {
        self.os.io(Interest::WRITE, self.limit.deadline(), || self.try_write(from))
    }

    pub(super) async fn write_async(&self, from: &[u8]) -> io::Result<usize> {
        let write = self.os.io_async(Interest::WRITE, || self.try_write(from));
        within(self.limit.deadline(), "write", write).await
    }

    fn try_read(&self, into: &mut [u8]) -> Tried<usize> {
        let count = rustix::io::read(self.os.get(), &mut *into)?;
        Ok((count, 0 < count && count < into.len()))
    }

    fn try_write(&self, from: &[u8]) -> Tried<usize> {
        let count = rustix::io::write(self.os.get(), from)?;
        Ok((count, count < from.len()))
    }

    pub(super) fn into_inner(self) -> T {
        self.os.into_inner()
    }
}

impl<T: AsFd> AsFd for Pipe<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.os.as_fd()
    }
}
