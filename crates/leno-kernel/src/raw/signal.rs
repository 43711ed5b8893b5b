//! A signal handler that only rings.
//!
//! Claims:
//! - The handler is async-signal-safe: an atomic load, `write` to a pipe that does not block, and
//!   `errno` as it was. It touches no lock, no memory of the heap, no thread-local but `errno`. In
//!   particular it does not ring a [`Bell`](crate::bell::Bell), which has a lock.
//! - The pipe is never closed, so the handler writes to no other file.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, IntoRawFd};

/// Where the handler writes to; below 0 before there is one.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// The end to read from: a byte for each signal, unless very many came at once.
pub(crate) fn pipe() -> io::Result<PipeReader> {
    let (reader, writer) = io::pipe()?;
    make_patient(&writer)?;
    PIPE.store(writer.into_raw_fd(), SeqCst);
    Ok(reader)
}

/// Makes a write to a full pipe fail instead of wait.
fn make_patient(writer: &PipeWriter) -> io::Result<()> {
    // SAFETY: the descriptor is open; asking for flags changes nothing.
    let flags = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETFL) };
    // SAFETY: the descriptor is open, and its flags are those it had and one more.
    let set = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) };
    if flags < 0 || set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether code of someone else's handles this signal.
pub(crate) fn is_taken(signal: i32) -> io::Result<bool> {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is given, so nothing changes; the old one is written to `now`.
    if unsafe { libc::sigaction(signal, core::ptr::null(), now.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: written above, and all zeroes were valid before.
    let now = unsafe { now.assume_init() }.sa_sigaction;
    Ok(now != libc::SIG_DFL && now != libc::SIG_IGN && now != on_signal as *const () as usize)
}

/// Has the handler called for this signal.
pub(crate) fn install(signal: i32) -> io::Result<()> {
    // SAFETY: all zeroes is a valid sigaction.
    let mut new = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    new.sa_sigaction = on_signal as *const () as usize;
    // Stacks of coroutines are small, so it runs on the thread's alternate one.
    new.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the handler is async-signal-safe; see the module.
    match unsafe { libc::sigaction(signal, &new, core::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_signal(_: i32) {
    let byte = 1_u8;
    // SAFETY: gives the address of this thread's `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: that address is valid.
    let before = unsafe { *errno };
    // SAFETY: one byte that is there; a pipe that is not, or is full, gives an error.
    unsafe { libc::write(PIPE.load(SeqCst), (&raw const byte).cast(), 1) };
    // SAFETY: as above.
    unsafe { *errno = before };
}
