//! Who wants something of the file system, and whether it may wait.

use std::io;

use leno_kernel::layer::current_stack;
use leno_kernel::{Time, Waiter, can_park, current};

use super::{ended, helper};
use crate::time::until;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// It does it itself: a thread, which may block; or a coroutine whose own stack unwinds, which
    /// cannot park, and should not lose what its destructors write.
    Itself,
    /// A thread that waits for a limited time: a helper does it.
    Thread,
    /// A coroutine.
    Co,
}

/// Who calls.
///
/// # Errors
/// When its platform refuses real I/O, as virtual time does.
///
/// # Panics
/// Inside a future that a core polls.
#[inline]
#[track_caller]
pub(crate) fn caller(deadline: Option<Time>) -> io::Result<Caller> {
    leno_kernel::io::permit()?;
    if current_stack().is_some() {
        return Ok(if can_park() { Caller::Co } else { Caller::Itself });
    }
    if current().is_some() {
        // It is a future, which this refuses.
        drop(Waiter::current());
    }
    Ok(if deadline.is_some() { Caller::Thread } else { Caller::Itself })
}

/// Has a helper do what blocks, while the calling coroutine parks. A thread does it itself.
///
/// # Errors
/// Those of the closure; `TimedOut`; the platform's refusal.
#[track_caller]
pub(crate) fn offload<T: Send + 'static>(
    deadline: Option<Time>,
    f: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    if caller(deadline)? == Caller::Itself {
        return f();
    }
    let (ended, result) = helper::call(deadline, f);
    ended::result(ended, result)
}

/// The same for a future.
///
/// # Errors
/// Those of the closure; `TimedOut`; the platform's refusal.
pub(crate) async fn offload_async<T: Send + 'static>(
    deadline: Option<Time>,
    f: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    leno_kernel::io::permit()?;
    match deadline {
        None => helper::call_async(f).await,
        Some(deadline) => Box::pin(late_at(deadline, helper::call_async(f))).await,
    }
}

/// A future's operation, which is dropped at the deadline: it is stopped, or its result lost. To be boxed, so
/// that futures without a limit stay small.
///
/// # Errors
/// Those of the operation; `TimedOut`.
pub(crate) async fn late_at<T>(
    deadline: Time,
    operation: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    until(deadline, operation).await.unwrap_or_else(|| Err(ended::late()))
}
