//! Reading, writing and syncing: which way an operation goes.
//!
//! 1. A thread, and a coroutine whose own stack unwinds, does it itself.
//! 2. A read first asks for what is in memory, without waiting: most files are read from there, and
//!    that costs as much as it does a thread.
//! 3. Else it goes through the ring, or to a helper.

use core::sync::atomic::Ordering::Relaxed;
use std::io::{self, IoSliceMut};
use std::os::fd::AsFd;
use std::sync::Arc;

use leno_kernel::Time;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::action::{Action, PARTS};
use super::backend::Backend;
use super::caller::{Caller, caller, late_at};
use super::file::File;
use super::{ended, helper};
use crate::named::naming;
use crate::raw::ring::{self, Ring};
use crate::streak;

/// Where the file's cursor is.
const CURSOR: u64 = u64::MAX;

impl File {
    /// Does it; whoever waits is woken when it is done.
    #[inline]
    #[track_caller]
    pub(super) fn perform(&self, mut action: Action<'_, '_>) -> io::Result<usize> {
        let (what, deadline) = (action.verb(), self.deadline());
        let result = action.check().and_then(|()| caller(deadline)).and_then(|caller| {
            if caller == Caller::Itself {
                return action.run(&self.inner);
            }
            streak::give_way_if_long();
            let result = match self.at_once(&mut action) {
                Some(result) => result,
                None => self.wait_for(caller, action, deadline),
            };
            result.inspect(|&count| streak::count(count))
        });
        result.map_err(naming(what, &self.path))
    }

    /// The same for a future.
    pub(super) async fn perform_async(&self, mut action: Action<'_, '_>) -> io::Result<usize> {
        let what = action.verb();
        streak::give_way_if_long_async().await;
        let result = match action.check().and_then(|()| leno_kernel::io::permit()) {
            Err(error) => Err(error),
            Ok(()) => match self.at_once(&mut action) {
                Some(result) => result.inspect(|&count| streak::count(count)),
                None => match self.deadline() {
                    None => self.await_it(action).await,
                    Some(deadline) => Box::pin(late_at(deadline, self.await_it(action))).await,
                },
            },
        };
        result.map_err(naming(what, &self.path))
    }

    /// What the system has in memory of what is to be read.
    fn at_once(&self, action: &mut Action<'_, '_>) -> Option<io::Result<usize>> {
        if !self.assume_cached.load(Relaxed) {
            return None;
        }
        let read = match action {
            Action::Read { into, at } => {
                let mut into = [IoSliceMut::new(into)];
                preadv2(&self.inner, &mut into, at.unwrap_or(CURSOR), ReadWriteFlags::NOWAIT)
            }
            Action::Scatter { into } => {
                let count = into.len().min(PARTS);
                preadv2(&self.inner, &mut into[..count], CURSOR, ReadWriteFlags::NOWAIT)
            }
            Action::Write { .. } | Action::Gather { .. } | Action::Sync { .. } => return None,
        };
        match read {
            Ok(count) => Some(Ok(count)),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                // Not for this file: its file system waits, or the system is too old to be asked.
                self.assume_cached.store(false, Relaxed);
                None
            }
            Err(error) => Some(Err(error.into())),
        }
    }

    #[track_caller]
    fn wait_for(
        &self,
        caller: Caller,
        action: Action<'_, '_>,
        deadline: Option<Time>,
    ) -> io::Result<usize> {
        if let Some(ring) = self.ring().filter(|_| caller == Caller::Co) {
            return ring::perform(&ring, self.inner.as_fd(), action, deadline);
        }
        let (owned, file) = (action.to_owned(), self.inner.clone());
        let (ended, result) = helper::call(deadline, move || owned.run(&file));
        let result = result
            .map(|(result, buffer)| result.inspect(|&count| action.copy_back(&buffer, count)));
        ended::result(ended, result)
    }

    async fn await_it(&self, action: Action<'_, '_>) -> io::Result<usize> {
        let mut result = None;
        if let Some(ring) = self.ring() {
            let done = ring::perform_owned(&ring, self.inner.clone(), action.to_owned()).await;
            // The thread that began it has ended; nothing was done.
            result =
                Some(done).filter(|(result, _)| !result.as_ref().is_err_and(ended::is_cancelled));
        }
        let (result, buffer) = match result {
            Some(done) => done,
            None => {
                let (owned, file) = (action.to_owned(), self.inner.clone());
                helper::call_async(move || owned.run(&file)).await
            }
        };
        result.inspect(|&count| action.copy_back(&buffer, count))
    }

    fn ring(&self) -> Option<Arc<Ring>> {
        if self.backend == Backend::Ring { ring::current() } else { None }
    }
}
