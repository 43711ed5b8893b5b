//! What is done to an open file, by whichever backend.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::unix::fs::FileExt;

use super::buffer::Buffer;

/// Into how many places the system reads at once, and from how many it writes (`UIO_MAXIOV`).
pub(crate) const PARTS: usize = 1024;

/// With memory of whoever waits until it is done.
pub(crate) enum Action<'a, 'b> {
    /// Reads at an offset, or where the file's cursor is.
    Read { into: &'a mut [u8], at: Option<u64> },
    /// Reads where the cursor is, into several places one after the other.
    Scatter { into: &'a mut [IoSliceMut<'b>] },
    /// Writes there.
    Write { from: &'a [u8], at: Option<u64> },
    /// Writes where the cursor is, from several places one after the other.
    Gather { from: &'a [IoSlice<'b>] },
    /// Has the file's data, or also its metadata, reach the disk.
    Sync { data_only: bool },
}

/// With memory of its own.
pub(crate) enum OwnedAction {
    Read { into: Buffer, at: Option<u64> },
    Write { from: Buffer, at: Option<u64> },
    Sync { data_only: bool },
}

impl Action<'_, '_> {
    /// What it is, in errors.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Action::Read { .. } | Action::Scatter { .. } => "read",
            Action::Write { .. } | Action::Gather { .. } => "write to",
            Action::Sync { .. } => "sync",
        }
    }

    /// # Errors
    /// When the system has no such offset. The largest ones would be its word for the file's cursor.
    #[inline]
    pub(crate) fn check(&self) -> io::Result<()> {
        match self {
            Action::Read { at: Some(at), .. } | Action::Write { at: Some(at), .. }
                if i64::try_from(*at).is_err() =>
            {
                let text = "an offset is less than 2⁶³";
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
            _ => Ok(()),
        }
    }

    /// Does it now, which blocks the thread.
    pub(crate) fn run(self, mut file: &File) -> io::Result<usize> {
        match self {
            Action::Read { into, at: Some(at) } => file.read_at(into, at),
            Action::Read { into, at: None } => file.read(into),
            Action::Scatter { into } => file.read_vectored(into),
            Action::Write { from, at: Some(at) } => file.write_at(from, at),
            Action::Write { from, at: None } => file.write(from),
            Action::Gather { from } => file.write_vectored(from),
            Action::Sync { data_only: true } => file.sync_data().map(|()| 0),
            Action::Sync { data_only: false } => file.sync_all().map(|()| 0),
        }
    }

    /// The same with memory of its own: one piece, however many places there are.
    pub(crate) fn to_owned(&self) -> OwnedAction {
        match *self {
            Action::Read { ref into, at } => {
                OwnedAction::Read { into: Buffer::new(into.len()), at }
            }
            Action::Scatter { ref into } => {
                let wanted = into.iter().map(|part| part.len()).sum();
                OwnedAction::Read { into: Buffer::new(wanted), at: None }
            }
            Action::Write { from, at } => OwnedAction::Write { from: Buffer::copy_of(&[from]), at },
            Action::Gather { from } => OwnedAction::Write { from: Buffer::copy_of(from), at: None },
            Action::Sync { data_only } => OwnedAction::Sync { data_only },
        }
    }

    /// Copies what was read to where it was wanted.
    pub(crate) fn copy_back(self, buffer: &Buffer, count: usize) {
        let mut read = &buffer.as_slice()[..count.min(buffer.as_slice().len())];
        let mut copy = |into: &mut [u8]| {
            let (here, rest) = read.split_at(into.len().min(read.len()));
            into[..here.len()].copy_from_slice(here);
            read = rest;
        };
        match self {
            Action::Read { into, .. } => copy(into),
            Action::Scatter { into } => into.iter_mut().for_each(|part| copy(part)),
            Action::Write { .. } | Action::Gather { .. } | Action::Sync { .. } => {}
        }
    }
}

impl OwnedAction {
    /// Does it now, which blocks the thread.
    pub(crate) fn run(self, file: &File) -> (io::Result<usize>, Buffer) {
        match self {
            OwnedAction::Read { mut into, at } => {
                let result = Action::Read { into: into.as_mut_slice(), at }.run(file);
                (result, into)
            }
            OwnedAction::Write { from, at } => {
                (Action::Write { from: from.as_slice(), at }.run(file), from)
            }
            OwnedAction::Sync { data_only } => {
                (Action::Sync { data_only }.run(file), Buffer::default())
            }
        }
    }
}
