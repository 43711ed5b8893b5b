//! Operations in a row that did not have to wait.
//!
//! Whoever finds its files, pipes and sockets ready again and again would keep its core for itself, since
//! nothing makes it wait. So after some operations, or many bytes, it lets others run first: before the
//! next operation, because giving way may end a coroutine, and then nothing was read that nobody gets.
//!
//! Each thread counts for itself, whoever runs there. Nothing here is inlined: a coroutine may go on, on
//! another thread, after it gave way, and must not use the count that it found before.
//!
//! # Rejected
//! - A count in each file and socket: two cores that read one file write the same cache line for every
//!   operation; and one that goes from socket to socket would never give way.

use core::cell::Cell;
use core::future::poll_fn;
use core::task::Poll;

/// After so many operations others get their turn.
const LONG: u32 = 32;
/// So many bytes count as another operation.
const BYTES: usize = 1 << 16;

thread_local!(static LENGTH: Cell<u32> = const { Cell::new(0) });

/// An operation was done, on so many bytes.
#[inline(never)]
pub(crate) fn count(bytes: usize) {
    let more = 1 + u32::try_from(bytes / BYTES).unwrap_or(LONG).min(LONG);
    LENGTH.set(LENGTH.get().saturating_add(more));
}

/// What comes next has to wait.
#[inline(never)]
pub(crate) fn end() {
    LENGTH.set(0);
}

/// Whether it is time to let others run; then the count begins anew.
#[inline(never)]
pub(crate) fn is_long() -> bool {
    let is_long = LENGTH.get() >= LONG;
    if is_long {
        LENGTH.set(0);
    }
    is_long
}

/// Lets others run, if it is time. For coroutines with a stack; for others nothing happens.
#[inline]
#[track_caller]
pub(crate) fn give_way_if_long() {
    if is_long() {
        give_way();
    }
}

/// The same for a future.
pub(crate) async fn give_way_if_long_async() {
    if is_long() {
        give_way_async().await;
    }
}

/// Lets others run first; a thread has none to consider.
#[track_caller]
pub(crate) fn give_way() {
    if leno_kernel::layer::current_stack().is_some() {
        leno_kernel::yield_now();
    }
}

/// Lets others be polled first.
pub(crate) async fn give_way_async() {
    let mut has_given_way = false;
    poll_fn(|context| {
        if core::mem::replace(&mut has_given_way, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
