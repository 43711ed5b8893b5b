//! What the kernel asks Linux about file descriptors: epoll, eventfd, poll(2), `O_NONBLOCK`.
//!
//! Claim: every call gets a descriptor that is open for as long as the call lasts, because it is
//! borrowed ([`BorrowedFd`]) or owned here; and memory that lives as long as the call. What epoll
//! carries for each descriptor is a number ([`crate::io::badge`]), never an address, so an event that
//! comes late can do no harm.

use core::mem::MaybeUninit;
use core::time::Duration;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{
    EPOLLERR, EPOLLET, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP, c_int, epoll_event,
};

use crate::io::Flags;

/// How many events are taken at a time.
const BATCH: usize = 64;

/// An epoll instance.
pub(crate) struct Epoll(OwnedFd);

/// The result of a system call, or its error.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same, tried again while signals interrupt it.
fn retry(mut call: impl FnMut() -> c_int) -> io::Result<c_int> {
    loop {
        match check(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        // SAFETY: takes no memory of ours.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: a new descriptor, which nobody else owns.
        Ok(Epoll(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Reports every change of `fd`, both ways, as events that carry `badge`; what is so already is
    /// reported as the first one.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, badge: u64) -> io::Result<()> {
        let events = (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET) as u32;
        self.control(libc::EPOLL_CTL_ADD, fd, events, badge)
    }

    /// The same, only for what can be read: for the eventfd, whose writes are what matters.
    pub(crate) fn add_readable(&self, fd: BorrowedFd<'_>, badge: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, (EPOLLIN | EPOLLET) as u32, badge)
    }

    pub(crate) fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    fn control(&self, what: c_int, fd: BorrowedFd<'_>, events: u32, u64: u64) -> io::Result<()> {
        let mut event = epoll_event { events, u64 };
        // SAFETY: both descriptors are open; the event lives as long as the call, which copies it.
        check(unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), what, fd.as_raw_fd(), &raw mut event)
        })?;
        Ok(())
    }

    /// Waits for events, for at most `limit`, and hands each over. A signal may end it early.
    pub(crate) fn wait(&self, limit: Option<Duration>, mut each: impl FnMut(u64, Flags)) {
        let mut events = [const { MaybeUninit::<epoll_event>::uninit() }; BATCH];
        let count = self.wait_into(&mut events, limit);
        for event in &events[..count] {
            // SAFETY: the system has written so many.
            let event = unsafe { event.assume_init_read() };
            each(event.u64, flags(event.events));
        }
    }

    fn wait_into(
        &self,
        events: &mut [MaybeUninit<epoll_event>; BATCH],
        limit: Option<Duration>,
    ) -> usize {
        /// The system does not have `epoll_pwait2`, or forbids it.
        static COARSE: AtomicBool = AtomicBool::new(false);
        let (epoll, room) = (self.0.as_raw_fd(), BATCH as c_int);
        let first = events.as_mut_ptr().cast::<epoll_event>();
        let exact = limit.is_some_and(|limit| !limit.is_zero()) && !COARSE.load(Relaxed);
        let result = if exact {
            let limit = limit.map(timespec);
            let limit = limit.as_ref().map_or(core::ptr::null(), |limit| &raw const *limit);
            let (call, mask) = (libc::SYS_epoll_pwait2, core::ptr::null::<libc::sigset_t>());
            // SAFETY: `first` has room for so many events; the limit lives as long as the call; no
            // mask. By number, because older C libraries do not have it by name.
            (unsafe { libc::syscall(call, epoll, first, room, limit, mask, 0usize) }) as c_int
        } else {
            // SAFETY: `first` has room for so many events.
            unsafe { libc::epoll_wait(epoll, first, room, millis(limit)) }
        };
        match check(result) {
            Ok(count) => count as usize,
            // Interrupted: whoever waits looks again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(_) if exact => {
                COARSE.store(true, Relaxed);
                self.wait_into(events, limit)
            }
            Err(error) => unreachable!("epoll_wait on an epoll of our own: {error}"),
        }
    }
}

fn timespec(limit: Duration) -> libc::timespec {
    let seconds = libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos() as libc::c_long }
}

/// Rounded up, so that nobody wakes too early again and again; -1 for no limit.
fn millis(limit: Option<Duration>) -> c_int {
    limit.map_or(-1, |limit| {
        let up = limit.as_nanos().div_ceil(1_000_000);
        c_int::try_from(up).unwrap_or(c_int::MAX)
    })
}

/// Hang-up and error concern both directions.
fn flags(events: u32) -> Flags {
    let has = |flag: c_int| events & flag as u32 != 0;
    let end = has(EPOLLHUP) || has(EPOLLERR);
    let mut flags = Flags::NONE;
    if has(EPOLLIN) || has(EPOLLRDHUP) || end {
        flags |= Flags::READ;
    }
    if has(EPOLLRDHUP) || end {
        flags |= Flags::READ_END;
    }
    if has(EPOLLOUT) || end {
        flags |= Flags::WRITE;
    }
    if end {
        flags |= Flags::WRITE_END;
    }
    if has(EPOLLPRI) {
        flags |= Flags::URGENT;
    }
    flags
}

/// A descriptor whose every write ends an [`Epoll::wait`].
pub(crate) fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: takes no memory of ours.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: a new descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Waits, blocking the thread, until one of the flags holds, for at most `limit`; those that hold.
pub(crate) fn poll(fd: BorrowedFd<'_>, flags_wanted: Flags, limit: Option<Duration>) -> Flags {
    let mut events = 0;
    if flags_wanted.has(Flags::READ) {
        events |= libc::POLLIN | libc::POLLRDHUP;
    }
    if flags_wanted.has(Flags::WRITE) {
        events |= libc::POLLOUT;
    }
    let start = std::time::Instant::now();
    let mut one = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // An interrupted call is repeated with what is left of the limit.
    let result = retry(|| {
        let left = limit.map(|limit| timespec(limit.saturating_sub(start.elapsed())));
        let left = left.as_ref().map_or(core::ptr::null(), |left| &raw const *left);
        // SAFETY: one entry, which lives as long as the call, as the limit does; no mask.
        unsafe { libc::ppoll(&raw mut one, 1, left, core::ptr::null()) }
    });
    match result {
        // Out of memory in the system: the operation itself will tell.
        Err(_) => flags_wanted,
        // poll(2) and epoll number them alike.
        Ok(0) => Flags::NONE,
        Ok(_) => flags(u32::from(one.revents as u16)),
    }
}

/// The flags of an open file.
fn status(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    // SAFETY: the descriptor is open; takes no memory of ours.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })
}

/// Whether operations on it never block; only looked at in debug builds.
pub(crate) fn is_nonblocking(fd: BorrowedFd<'_>) -> bool {
    status(fd).is_ok_and(|flags| flags & libc::O_NONBLOCK != 0)
}

/// Makes operations fail with `WouldBlock` where they would block.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = status(fd)?;
    if flags & libc::O_NONBLOCK == 0 {
        let flags = flags | libc::O_NONBLOCK;
        // SAFETY: the descriptor is open; takes no memory of ours.
        check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) })?;
    }
    Ok(())
}
