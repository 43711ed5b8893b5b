//! Operations in a row that did not have to wait.
//!
//! Whoever finds its file, pipe or socket ready again and again would keep its core for itself, since
//! nothing makes it wait. So after some operations, or many bytes, it lets others run first: before the
//! next operation, because giving way may end a coroutine, and then nothing was read that nobody gets.
//!
//! The count is relaxed and may be off when several threads use one file, which does no harm.

use core::future::poll_fn;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::task::Poll;

/// After so many operations others get their turn.
const LONG: u32 = 32;
/// So many bytes count as another operation.
const BYTES: usize = 1 << 16;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Streak(AtomicU32);

impl Streak {
    /// An operation was done, on so many bytes.
    #[inline]
    pub(crate) fn count(&self, bytes: usize) {
        let more = 1 + u32::try_from(bytes / BYTES).unwrap_or(LONG).min(LONG);
        self.0.store(self.0.load(Relaxed) + more, Relaxed);
    }

    /// What comes next has to wait.
    #[inline]
    pub(crate) fn end(&self) {
        self.0.store(0, Relaxed);
    }

    /// Lets others run, if it is time. For coroutines with a stack; for others nothing happens.
    #[inline]
    #[track_caller]
    pub(crate) fn give_way(&self) {
        if self.is_long() {
            give_way();
        }
    }

    /// The same for a future.
    pub(crate) async fn give_way_async(&self) {
        if self.is_long() {
            give_way_async().await;
        }
    }

    /// Whether it is time; then the count begins anew.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        let is_long = self.0.load(Relaxed) >= LONG;
        if is_long {
            self.end();
        }
        is_long
    }
}

/// Lets others run first; a thread has none to consider.
#[track_caller]
pub(crate) fn give_way() {
    if leno_kernel::current_stack().is_some() {
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
