//! What a wait's end means for whoever waited.

use std::io;

use leno_kernel::exit;

use super::flight::Ended;

/// The result of an operation that has landed; none, if it was withdrawn. One that was done counts,
/// even if it was cancelled. Whoever is to exit does so here.
pub(crate) fn result<T>(ended: Ended, result: Option<io::Result<T>>) -> io::Result<T> {
    match ended {
        Ended::Landed => result.unwrap_or_else(|| unreachable!("only who waits withdraws it")),
        Ended::Late => match result {
            Some(Ok(done)) => Ok(done),
            Some(Err(error)) if !is_cancelled(&error) => Err(error),
            _ => Err(io::Error::new(io::ErrorKind::TimedOut, "the time is over")),
        },
        Ended::Exit => {
            // Frames that are left for good own nothing.
            drop(result);
            Err(io::Error::other(exit()))
        }
    }
}

/// Whether an operation was stopped, by us or because its thread has ended.
pub(crate) fn is_cancelled(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ECANCELED | libc::EINTR))
}
