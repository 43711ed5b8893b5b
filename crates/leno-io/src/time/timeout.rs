//! Limits for whatever is waited for.
//!
//! # How a closure is limited
//! The closure runs as a child of the calling coroutine: on the same core, in a scope, so it may
//! borrow. The calling one waits for the child's end, and for the time. When the time is over, the
//! child is made to exit: whatever it waits for (a socket, a channel, a lock, another coroutine, a
//! sleep) is withdrawn, its stack unwinds, its destructors run. Only then does `timeout` return.
//! A child that ended on its own in the meantime has a result, and that is what is returned: nothing
//! is lost between the time and the end.
//!
//! Considered and rejected: a deadline that every wait of this crate honours, kept with the
//! coroutine. It would end only what this crate waits for, not what channels and locks do, and code
//! that treats `TimedOut` as its own would go on.
//!
//! Deliberately not here: a limit for code that does not wait. A child that computes is not stopped,
//! nor is a call on a helper thread that has begun.

use core::cell::Cell;
use core::fmt::Display;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;
use std::io;
use std::panic::resume_unwind;

use leno_kernel::layer::{current_stack, deadline_in};
use leno_kernel::{Co, Options, Reason, Start, Time, Wake};

use super::elapsed::Elapsed;
use super::sleep::AlarmClock;

/// Runs a closure, whose waits end when `limit` is over.
///
/// The closure runs in a coroutine of its own, with a stack as large as usual, and may borrow. It
/// begins at once.
///
/// # Blocking
/// Parks the calling coroutine until the closure has ended; that may be later than the limit, if the
/// closure does not wait for anything, or its destructors take long.
///
/// # Cancellation
/// When the calling coroutine is to exit, the closure's is made to exit first; then the calling
/// one's stack unwinds.
///
/// # Errors
/// When the time was over before the closure had ended. It has been unwound by then.
///
/// # Panics
/// With the panic of the closure. When no coroutine with a stack runs the calling code, or while its
/// stack unwinds: a thread has nobody who could end its waits. Use the limits of sockets there, or
/// [`timeout_async`] with [`block_on`](leno_kernel::block_on).
///
/// # Examples
/// ```
/// use leno_io::time::{sleep, timeout};
/// use leno_kernel::LocalSystem;
/// use std::time::Duration;
///
/// let system = LocalSystem::builder().virtual_time().build();
/// let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
/// let both = system.spawn(move || {
///     let words = vec!["in", "time"];
///     let quick = timeout(second, || words.join(" "));
///     let slow = timeout(second, || sleep(hour));
///     (quick, slow.is_err())
/// });
/// system.run()?;
/// assert_eq!(both.join()?, (Ok("in time".to_owned()), true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn timeout<T>(limit: Duration, f: impl FnOnce() -> T) -> Result<T, Elapsed> {
    let Some(own) = current_stack() else {
        panic!(
            "a limit for a closure needs a coroutine with a stack, which waits for it; on a thread \
             use the limits of sockets, in a future `timeout_async`"
        )
    };
    let deadline = deadline_in(limit);
    let has_ended = Cell::new(false);
    let options = Options::new().name("timeout").start(Start::Eager);
    leno_kernel::scope(|scope| {
        let child = scope.spawn_with(&options, || {
            let _tell = Tell { whom: own, has_ended: &has_ended };
            f()
        });
        let child = child.unwrap_or_else(|error| panic!("{error}"));
        while !has_ended.get() {
            match leno_kernel::park_until(Reason::Joining(child.co()), deadline) {
                Wake::Unparked => {}
                Wake::TimedOut => {
                    child.cancel();
                    break;
                }
                Wake::Exit => {
                    // Unwinds, and the scope ends the child.
                    leno_kernel::exit();
                    child.cancel();
                    break;
                }
            }
        }
        match child.join() {
            Ok(result) => Ok(result),
            Err(error) => match error.into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(_) => Err(Elapsed { limit }),
            },
        }
    })
}

/// Tells that the child has ended; of the same core, so nothing is shared between threads.
struct Tell<'a> {
    whom: Co,
    has_ended: &'a Cell<bool>,
}

impl Drop for Tell<'_> {
    fn drop(&mut self) {
        self.has_ended.set(true);
        leno_kernel::unpark(self.whom);
    }
}

/// Awaits a future for at most `limit`; on any executor.
///
/// # Cancellation
/// When the time is over, or this is dropped, the future is dropped, and so waits no more.
///
/// # Errors
/// When the time was over before the future was ready. One that is ready at once is never too late.
///
/// # Examples
/// ```
/// use leno_io::time::{sleep_async, timeout_async};
/// use std::time::Duration;
///
/// let (short, long) = (Duration::from_millis(1), Duration::from_secs(3600));
/// leno_kernel::block_on(async {
///     assert_eq!(timeout_async(long, async { 42 }).await, Ok(42));
///     assert!(timeout_async(short, sleep_async(long)).await.is_err());
/// });
/// ```
pub async fn timeout_async<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    until(deadline_in(limit), future).await.ok_or(Elapsed { limit })
}

/// `None` when the deadline comes first.
pub(crate) async fn until<F: Future>(deadline: Time, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut clock = AlarmClock::default();
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => clock.poll(deadline, context).map(|()| None),
    })
    .await
}

/// An operation of this crate until a deadline, if there is one; `what` is said when it is over. Small:
/// it keeps the operation once, and a clock only if there is a deadline.
pub(crate) fn within<T, F, W>(
    deadline: Option<Time>,
    what: W,
    mut future: F,
) -> impl Future<Output = io::Result<T>> + Unpin + use<T, F, W>
where
    W: Display + Unpin,
    F: Future<Output = io::Result<T>> + Unpin,
{
    let mut limit = deadline.map(|deadline| (deadline, Box::<AlarmClock>::default()));
    poll_fn(move |context| match (Pin::new(&mut future).poll(context), &mut limit) {
        (Poll::Pending, Some((deadline, clock))) => clock.poll(*deadline, context).map(|()| {
            let message = format!("the time is over in which to {what}");
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        }),
        (polled, _) => polled,
    })
}
