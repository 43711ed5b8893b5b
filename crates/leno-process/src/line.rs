//! Waiting in lines of the kernel's [wait queues](leno_kernel::layer::queue): what those of this crate share.

use leno_kernel::layer::queue::{Guard, Next, Shared, Stage};
use leno_kernel::{Waiter, Wake};

/// Ends the wait of the first of a line. Returns how to wake it; nothing, if nobody is there.
#[must_use = "nobody else wakes it"]
pub(crate) fn meet_first<S, P, const N: usize>(
    guard: &mut Guard<'_, Shared, S, P, N>,
    line: usize,
) -> Option<Waiter> {
    let settled = guard.settle_first(line, Stage::Met, (), |_, ()| ());
    settled.ok().and_then(|((), waiter)| waiter)
}

/// Goes on after a park: looks whether it was met, or ends the wait because the coroutine is to exit.
pub(crate) fn next_after(wake: Wake) -> Next {
    if wake == Wake::Exit { Next::Leave } else { Next::Look }
}
