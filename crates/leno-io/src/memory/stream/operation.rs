//! Reading and writing: the operations, and `std`'s traits over them.

use std::io::{self, Read, Write};
use std::sync::Arc;

use leno_kernel::layer::Sign;
use leno_kernel::log::Operation as Kind;
use leno_kernel::{Object, Time};

use super::{Socket, Stream, deadline};
use crate::memory::choices::Decided;
use crate::memory::error::late;
use crate::memory::state::{Place, State};
use crate::memory::wait::{Attempt, Operation};

impl Read for &Stream {
    #[track_caller]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let deadline = deadline(&self.end.read_limit);
        self.end.inner().wait(self.reading(into, false), deadline)
    }
}

impl Write for &Stream {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let deadline = deadline(&self.end.write_limit);
        self.end.inner().wait(self.writing(bytes), deadline)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    #[track_caller]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (&*self).read(into)
    }
}

impl Write for Stream {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads, or looks.
pub(super) struct Reading<'a> {
    pub(super) end: &'a Socket,
    pub(super) into: &'a mut [u8],
    /// Whether what is read stays where it is.
    pub(super) keeps: bool,
}

impl Operation for Reading<'_> {
    type Output = usize;

    fn attempt(&mut self, state: &mut State, now: Time) -> Decided<Attempt<usize>> {
        state.read(self.end.at, self.into, self.keeps, now)
    }

    fn place(&self) -> Place {
        Place::Bytes(self.end.at.connection, 1 - self.end.at.side)
    }

    fn kind(&self) -> (Kind, Option<Object>) {
        (Kind::Receive, Some(self.end.route))
    }

    fn sign(&self) -> &Arc<Sign> {
        &self.end.signs[0]
    }

    fn tell(&self, count: &usize) -> Option<String> {
        let verb = if self.keeps { "sees" } else { "reads" };
        let (peer, local) = (self.end.peer, self.end.local);
        Some(format!("{verb} {count} of at most {} bytes, {peer} to {local}", self.into.len()))
    }

    fn late(&self) -> io::Error {
        late("read", (self.end.peer, self.end.local))
    }
}

/// Writes.
pub(super) struct Writing<'a> {
    pub(super) end: &'a Socket,
    pub(super) bytes: &'a [u8],
}

impl Operation for Writing<'_> {
    type Output = usize;

    fn attempt(&mut self, state: &mut State, now: Time) -> Decided<Attempt<usize>> {
        state.write(self.end.at, self.bytes, now)
    }

    fn place(&self) -> Place {
        Place::Room(self.end.at.connection, self.end.at.side)
    }

    fn kind(&self) -> (Kind, Option<Object>) {
        (Kind::Send, Some(self.end.route))
    }

    fn sign(&self) -> &Arc<Sign> {
        &self.end.signs[1]
    }

    fn tell(&self, count: &usize) -> Option<String> {
        let (local, peer) = (self.end.local, self.end.peer);
        Some(format!("writes {count} of {} bytes, {local} to {peer}", self.bytes.len()))
    }

    fn late(&self) -> io::Error {
        late("write", (self.end.local, self.end.peer))
    }
}
