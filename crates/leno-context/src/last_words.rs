//! Messages that must not fail: why the process ends, what is lost, what nobody else would hear of.
//!
//! `eprintln!` panics when stderr is closed or full, which turns an abort into an unwinding, and takes a
//! lock that the interrupted code may hold. Everything here formats into a buffer on the stack and writes
//! it to file descriptor 2 by `write`; errors are ignored. It neither allocates nor panics, and works in
//! signal handlers, while anything unwinds, and at the end of a thread.
//!
//! What is formatted should be leno's own: names, numbers, places. A `Display` of a user's that panics
//! cuts the message off and goes no further.

use core::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is written at once: longer messages are written in several pieces.
const SIZE: usize = 1024;

/// Writes a line to stderr that begins with `leno: `.
///
/// # Examples
/// ```
/// leno_context::last_words::say(format_args!("{} stacks are leaked", 3));
/// ```
#[cold]
#[inline(never)]
pub fn say(words: fmt::Arguments<'_>) {
    write(format_args!("leno: {words}\n"));
}

/// Writes text to stderr as it is.
#[cold]
#[inline(never)]
pub fn write(text: fmt::Arguments<'_>) {
    let mut buffer = Buffer::new();
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| buffer.write_fmt(text))) {
        // Its `Drop` may panic, too.
        core::mem::forget(payload);
        let _ = buffer.write_str(" ..\n");
    }
    buffer.flush();
}

/// Collects what is formatted, and writes it when it is full and when asked to.
pub(crate) struct Buffer {
    bytes: [u8; SIZE],
    len: usize,
}

impl Buffer {
    pub(crate) fn new() -> Buffer {
        Buffer { bytes: [0; SIZE], len: 0 }
    }

    /// Writes what is there.
    pub(crate) fn flush(&mut self) {
        let len = core::mem::take(&mut self.len);
        put(&self.bytes[..len]);
    }
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.len == SIZE {
                self.flush();
            }
            let n = rest.len().min(SIZE - self.len);
            let (now, later) = rest.split_at(n);
            self.bytes[self.len..self.len + n].copy_from_slice(now);
            self.len += n;
            rest = later;
        }
        Ok(())
    }
}

/// Writes bytes to stderr, as many as it takes.
fn put(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: bytes that are there.
        let written = unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(_) if is_interrupted() => {}
            Err(_) => return,
        }
    }
}

fn is_interrupted() -> bool {
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
}

#[cfg(test)]
mod tests;
