//! The system's side of a ring.
//!
//! Should the system refuse to take what is in the queue (which it does only if it forbids rings after
//! it gave one), the ring is *broken*: nothing is given to it any more, and what it did not take it
//! never will. So whoever began that operation may go.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use io_uring::squeue::Entry;
use io_uring::{IoUring, Probe, opcode};

/// How many operations are given to the system in one call, at most: the queue is empty between calls.
const ENTRIES: u32 = 8;
/// How many may have landed before they are looked at without another call.
const LANDED: u32 = 256;
/// The number of cancellations, which nobody waits for.
const CANCEL: u64 = u64::MAX;

/// See the module.
pub(super) struct Uring {
    uring: IoUring,
    /// What has landed, and was taken out of the ring early, to make room.
    early: Vec<(u64, i32)>,
    /// Why the system takes no more.
    broken: Option<i32>,
}

impl Uring {
    pub(super) fn new() -> io::Result<Uring> {
        let mut plain = IoUring::builder();
        plain.setup_cqsize(LANDED).dontfork();
        let mut gentle = plain.clone();
        // Linux 5.19: no interrupt of a busy thread for what it will look at soon.
        gentle.setup_coop_taskrun();
        let uring = gentle.build(ENTRIES).or_else(|_| plain.build(ENTRIES))?;
        Ok(Uring { uring, early: Vec::new(), broken: None })
    }

    /// Whether it can do what is needed.
    pub(super) fn is_able(&self) -> bool {
        let mut probe = Probe::new();
        let needed = [
            opcode::Read::CODE,
            opcode::Write::CODE,
            opcode::Fsync::CODE,
            opcode::AsyncCancel::CODE,
        ];
        let params = self.uring.params();
        params.is_feature_nodrop()
            && params.is_feature_rw_cur_pos()
            && params.is_feature_fast_poll()
            && self.uring.submitter().register_probe(&mut probe).is_ok()
            && needed.into_iter().all(|code| probe.is_supported(code))
    }

    /// Another descriptor of the ring, to be watched.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: it is open as long as the ring, which is borrowed.
        let own = unsafe { BorrowedFd::borrow_raw(self.uring.as_raw_fd()) };
        own.try_clone_to_owned()
    }

    /// As if the system had refused.
    #[cfg(test)]
    pub(super) fn break_down(&mut self) {
        self.broken = Some(libc::EPERM);
    }

    /// How many have landed and were not taken.
    #[cfg(test)]
    pub(super) fn landed(&mut self) -> usize {
        self.uring.completion().len()
    }

    /// Gives an operation to the system, under this number.
    ///
    /// # Errors
    /// When the system has not taken it, and never will.
    ///
    /// # Safety
    /// What the entry names (memory, descriptor) is there until the system tells of its end.
    pub(super) unsafe fn submit(&mut self, flight: u32, entry: Entry) -> io::Result<()> {
        let entry = entry.user_data(flight.into());
        // SAFETY: as the caller promises.
        unsafe { self.push(&entry) }
    }

    /// Asks the system to stop an operation. Its end is told of in any case.
    pub(super) fn cancel(&mut self, flight: u32) {
        let entry = opcode::AsyncCancel::new(flight.into()).build().user_data(CANCEL);
        // SAFETY: it names a number, no memory. A broken ring has nothing to stop.
        let _ = unsafe { self.push(&entry) };
    }

    /// # Safety
    /// As for [`Self::submit`].
    unsafe fn push(&mut self, entry: &Entry) -> io::Result<()> {
        if let Some(error) = self.broken {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: as the caller promises.
        let pushed = unsafe { self.uring.submission().push(entry) };
        if pushed.is_err() {
            // The queue is empty between calls, so the ring does not do what it should.
            self.broken = Some(libc::EIO);
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        self.enter(0)
    }

    /// Waits until something has landed; or not, if a signal comes.
    pub(super) fn wait(&mut self) {
        if self.broken.is_some() || self.enter(1).is_err() {
            // What was taken before lands nevertheless, and nobody tells when.
            std::thread::sleep(core::time::Duration::from_millis(1));
        }
    }

    /// Takes what has landed: numbers and results.
    pub(super) fn completions(&mut self, mut each: impl FnMut(u32, i32)) {
        loop {
            let early = core::mem::take(&mut self.early);
            let landed = self.uring.completion().map(|end| (end.user_data(), end.result()));
            for (flight, result) in early.into_iter().chain(landed) {
                if flight != CANCEL {
                    each(flight as u32, result);
                }
            }
            // What found no room in the ring comes into it by another call.
            if !self.uring.submission().cq_overflow() || self.broken.is_some() {
                return;
            }
            let _ = self.enter(0);
        }
    }

    /// Has the system take what is in the queue, and waits for so many that have landed.
    fn enter(&mut self, landed: usize) -> io::Result<()> {
        loop {
            let result = self.uring.submit_and_wait(landed);
            let is_empty = self.uring.submission().is_empty();
            match result {
                Ok(_) if is_empty => return Ok(()),
                Ok(_) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) if is_empty => return Ok(()),
                    Some(libc::EINTR) => {}
                    // Too much has landed without having been looked at, or there is no memory at the
                    // moment.
                    Some(libc::EBUSY | libc::EAGAIN) if is_empty => return Ok(()),
                    Some(libc::EBUSY | libc::EAGAIN) => {
                        let landed = self.uring.completion();
                        self.early.extend(landed.map(|end| (end.user_data(), end.result())));
                        std::thread::yield_now();
                    }
                    number => {
                        self.broken = Some(number.unwrap_or(libc::EIO));
                        return Err(error);
                    }
                },
            }
        }
    }
}
