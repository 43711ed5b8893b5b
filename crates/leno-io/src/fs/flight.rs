//! Waiting for an operation that goes on elsewhere: in a ring, or on a helper thread.
//!
//! ```text
//!   aloft --lands--> landed             whoever waits gets its result
//!   aloft --too late, or exit--> cancelled --lands--> landed
//! ```
//! Nobody leaves before it has landed, because it may use memory or a file of whoever waits. So a wait
//! that is cancelled goes on, deaf: for as long as the system needs to stop the operation, or, if it
//! cannot be stopped, to finish it.

use leno_kernel::layer::park_deaf;
use leno_kernel::layer::queue::Next;
use leno_kernel::{Reason, Time, Waiter, Wake, park, park_until};

/// See the module.
pub(crate) trait Flight {
    /// Waits in line, with this waiter, until it has landed, or until `next`, which waits for a wake, says that the wait
    /// ends. Whether it has landed; if not, the caller waits again.
    fn wait(&self, waiter: Waiter, next: impl FnMut() -> Next) -> bool;

    /// Asks for it to end early.
    fn cancel(&self);

    /// Blocks the thread until it has landed: for those who may not park.
    fn block(&self);
}

/// Why a wait has ended. The operation has landed in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Landed,
    /// The time was over, so it was cancelled; it may have been done nevertheless.
    Late,
    /// The same because the calling coroutine is to exit.
    Exit,
}

/// Waits until it has landed; from `deadline` on, or if the calling coroutine is to exit, it is
/// cancelled.
#[track_caller]
pub(crate) fn wait(flight: &impl Flight, reason: Reason, deadline: Option<Time>) -> Ended {
    let mut ended = Ended::Landed;
    let mut next = || {
        let wake = match (ended, deadline) {
            (Ended::Landed, None) => park(reason),
            (Ended::Landed, Some(deadline)) => park_until(reason, deadline),
            _ => park_deaf(reason),
        };
        match (wake, ended) {
            (Wake::Unparked, _) => return Next::Look,
            (Wake::TimedOut, _) => {
                ended = Ended::Late;
                flight.cancel();
            }
            (Wake::Exit, Ended::Landed) => {
                ended = Ended::Exit;
                flight.cancel();
            }
            // Its own stack unwinds.
            (Wake::Exit, _) => flight.block(),
        }
        // It may have landed meanwhile.
        Next::Leave
    };
    while !flight.wait(Waiter::current(), &mut next) {}
    ended
}
