//! What a wait's end means for whoever waited.

use std::io;

use leno_kernel::exit;

use super::flight::Ended;

/// The result of an operation that has landed; none, if it was withdrawn. One that was done counts,
/// even if it was cancelled: what was read is not lost. Whoever is to exit then does so at its next
/// wait; if nothing was done, here.
pub(crate) fn result<T>(ended: Ended, result: Option<io::Result<T>>) -> io::Result<T> {
    match (ended, result) {
        (Ended::Landed, result) => {
            result.unwrap_or_else(|| unreachable!("only who waits withdraws it"))
        }
        (_, Some(Ok(done))) => Ok(done),
        (Ended::Late, Some(Err(error))) if !is_cancelled(&error) => Err(error),
        (Ended::Late, _) => Err(late()),
        (Ended::Exit, error) => {
            // Frames that are left for good own nothing.
            drop(error);
            Err(io::Error::other(exit()))
        }
    }
}

pub(crate) fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the time is over")
}

/// Whether an operation was stopped, by us or because its thread has ended.
pub(crate) fn is_cancelled(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ECANCELED | libc::EINTR))
}
