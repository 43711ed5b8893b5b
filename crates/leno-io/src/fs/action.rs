//! What is done to an open file, by whichever backend.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use super::buffer::Buffer;

/// With memory of whoever waits until it is done.
pub(crate) enum Action<'a> {
    /// Reads at an offset, or where the file's cursor is.
    Read { into: &'a mut [u8], at: Option<u64> },
    /// Writes there.
    Write { from: &'a [u8], at: Option<u64> },
    /// Has the file's data, or also its metadata, reach the disk.
    Sync { data_only: bool },
}

/// With memory of its own.
pub(crate) enum OwnedAction {
    Read { into: Buffer, at: Option<u64> },
    Write { from: Buffer, at: Option<u64> },
    Sync { data_only: bool },
}

impl Action<'_> {
    /// What it is, in errors.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Action::Read { .. } => "read",
            Action::Write { .. } => "write to",
            Action::Sync { .. } => "sync",
        }
    }

    /// Does it now, which blocks the thread.
    pub(crate) fn run(self, mut file: &File) -> io::Result<usize> {
        match self {
            Action::Read { into, at: Some(at) } => file.read_at(into, at),
            Action::Read { into, at: None } => file.read(into),
            Action::Write { from, at: Some(at) } => file.write_at(from, at),
            Action::Write { from, at: None } => file.write(from),
            Action::Sync { data_only: true } => file.sync_data().map(|()| 0),
            Action::Sync { data_only: false } => file.sync_all().map(|()| 0),
        }
    }

    /// The same with memory of its own.
    pub(crate) fn to_owned(&self) -> OwnedAction {
        match *self {
            Action::Read { ref into, at } => {
                OwnedAction::Read { into: Buffer::new(into.len()), at }
            }
            Action::Write { from, at } => OwnedAction::Write { from: Buffer::copy_of(from), at },
            Action::Sync { data_only } => OwnedAction::Sync { data_only },
        }
    }

    /// Copies what was read to where it was wanted.
    pub(crate) fn copy_back(self, buffer: &Buffer, count: usize) {
        if let Action::Read { into, .. } = self {
            buffer.copy_to(into, count);
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
