//! Operations on memory of whoever waits.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

use io_uring::squeue::Entry;
use io_uring::{opcode, types};
use leno_kernel::layer::queue::Next;
use leno_kernel::{Reason, Time, Waiter};

use super::Ring;
use crate::fs::action::{Action, PARTS};
use crate::fs::ended;
use crate::fs::flight::{self, Flight};

/// Where the file's cursor is.
pub(super) const CURSOR: u64 = u64::MAX;

/// Does it, and waits until it is done: the calling coroutine parks, unless the system had it at once.
///
/// # Errors
/// Those of the operation; `TimedOut`; or that the calling coroutine's own stack unwinds.
#[track_caller]
pub(crate) fn perform(
    ring: &Arc<Ring>,
    file: BorrowedFd<'_>,
    action: Action<'_, '_>,
    deadline: Option<Time>,
) -> io::Result<usize> {
    // The borrows of file and memory last as long as this call, which ends when `aloft` is gone.
    let entry = entry(file, action);
    let mut aloft = Aloft { ring, flight: None };
    let mut late = None;
    let number = match leno_context::is_planted("uring-late-guard") {
        true => &mut late,
        false => &mut aloft.flight,
    };
    // SAFETY: what is borrowed stays until this function is left or unwinds; by then it has landed,
    // because `Aloft`, which knows of it before the system does, waits for that when it is dropped, and
    // nobody else has it to forget it.
    let landed = unsafe { ring.start(None, |_| entry, number) };
    aloft.flight = aloft.flight.or(late);
    if let Some(landed) = landed {
        return outcome(landed.result);
    }
    let ended = flight::wait(&aloft, Reason::Io, deadline);
    ended::result(ended, Some(outcome(aloft.land())))
}

fn entry(file: BorrowedFd<'_>, action: Action<'_, '_>) -> Entry {
    let file = types::Fd(file.as_raw_fd());
    match action {
        Action::Read { into, at } => opcode::Read::new(file, into.as_mut_ptr(), size(into.len()))
            .offset(at.unwrap_or(CURSOR))
            .build(),
        // `IoSliceMut` and `IoSlice` are `iovec`s, as `std` promises.
        Action::Scatter { into } => {
            opcode::Readv::new(file, into.as_mut_ptr().cast(), parts(into.len()))
                .offset(CURSOR)
                .build()
        }
        Action::Gather { from } => {
            opcode::Writev::new(file, from.as_ptr().cast(), parts(from.len()))
                .offset(CURSOR)
                .build()
        }
        Action::Write { from, at } => opcode::Write::new(file, from.as_ptr(), size(from.len()))
            .offset(at.unwrap_or(CURSOR))
            .build(),
        Action::Sync { data_only } => sync(file, data_only),
    }
}

pub(super) fn sync(file: types::Fd, data_only: bool) -> Entry {
    let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
    opcode::Fsync::new(file).flags(flags).build()
}

/// As much as the system does at once.
pub(super) fn size(wanted: usize) -> u32 {
    wanted.min(0x7fff_f000) as u32
}

/// As many places as the system takes at once.
fn parts(wanted: usize) -> u32 {
    wanted.min(PARTS) as u32
}

pub(super) fn outcome(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

/// An operation on borrowed memory, which has not landed as far as we know; or none. It is not dropped
/// before it has.
struct Aloft<'a> {
    ring: &'a Arc<Ring>,
    flight: Option<u32>,
}

impl Aloft<'_> {
    fn number(&self) -> u32 {
        self.flight.expect("it has not been taken")
    }

    /// The result, when it has landed.
    fn land(&mut self) -> i32 {
        let flight = self.number();
        let landed = self.ring.inner().flights.take(flight).expect("it has landed");
        self.flight = None;
        landed.result
    }
}

impl Flight for Aloft<'_> {
    fn wait(&self, waiter: Waiter, next: impl FnMut() -> Next) -> bool {
        self.ring.wait(self.number(), waiter, next)
    }

    fn cancel(&self) {
        self.ring.cancel(self.number());
    }

    fn block(&self) {
        self.ring.block(self.number());
    }
}

impl Drop for Aloft<'_> {
    /// A clock or a waker, which are code of users, has panicked in the middle of the wait.
    fn drop(&mut self) {
        if self.flight.is_some() {
            self.cancel();
            self.block();
            self.land();
        }
    }
}
