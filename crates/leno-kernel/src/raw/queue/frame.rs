//! Waiting in a frame: a node that lies there, and is unlinked before the frame goes. The claims are those of the module
//! above.

use core::mem::ManuallyDrop;
use core::ptr;

use leno_context::{control, unwind};

use super::node::Raw;
use super::{Guard, Left, WaitQueue, no_line};
use crate::queue::{Lock, Stage};
use crate::{Waiter, user};

impl<'c, L: Lock, S, P, const N: usize> Guard<'c, L, S, P, N> {
    /// Has the calling code wait at the end of a line, and releases the lock. Returns it again, with what the wait has
    /// left behind, when the wait was settled, or when `next` says that it ends.
    ///
    /// `first` is called once and says how to go on; then `next`, a closure as a rule, as often as it takes. `next`
    /// waits for a wake: it parks, say. They may call user code, and unwind: then the wait ends, and `abandon` gets what
    /// it has left behind, with the lock, to give back what was handed over. The owner's code must not have the lock when
    /// that happens: one of a single thread ends the process then, one for any thread is waited for, for ever.
    ///
    /// # Panics
    /// If there is no such line.
    #[inline(always)]
    pub fn wait(
        self,
        line: usize,
        waiter: Waiter,
        payload: P,
        first: impl FnOnce() -> First,
        next: impl Sleep,
        abandon: impl FnOnce(Self, Left<P>),
    ) -> (Self, Left<P>) {
        self.wait_raw(line, waiter, payload, first, next, abandon, |guard, node| {
            // SAFETY: it was unlinked, and is used no more.
            let left = unsafe { node.take() };
            (guard, left)
        })
    }

    /// As [`Self::wait`], and has `end` look at what the wait has left behind where it lies, so that it is not moved.
    /// What `end` leaves of it is dropped.
    ///
    /// # Panics
    /// If there is no such line.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "all but two are what happens, in its order")]
    pub fn wait_then<R>(
        self,
        line: usize,
        waiter: Waiter,
        payload: P,
        first: impl FnOnce() -> First,
        next: impl Sleep,
        abandon: impl FnOnce(Self, Left<P>),
        end: impl FnOnce(Self, Stage, &mut P) -> R,
    ) -> R {
        self.wait_raw(line, waiter, payload, first, next, abandon, |guard, node| {
            let rest = Rest(node);
            // SAFETY: it was unlinked, so that nobody else uses it.
            end(guard, rest.0.stage.get(), unsafe { rest.0.payload_mut() })
        })
    }

    /// The node that `end` gets was unlinked; it has to drop or take what it holds.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "as above")]
    fn wait_raw<R>(
        mut self,
        line: usize,
        waiter: Waiter,
        payload: P,
        first: impl FnOnce() -> First,
        mut next: impl Sleep,
        abandon: impl FnOnce(Self, Left<P>),
        end: impl FnOnce(Self, &Raw<P>) -> R,
    ) -> R {
        if !self.held.has_line(line) {
            // What is dropped then is user code.
            drop(self);
            no_line(line);
        }
        let queue = self.queue;
        // On a stack that coroutines share, what is called meanwhile could have it copied away.
        // SAFETY: dropped when this function returns or unwinds.
        let _held = unsafe { control::hold_frames() };
        let node = ManuallyDrop::new(Raw::new(waiter, payload));
        // SAFETY: it is in no line, and stays here until it has been unlinked, by the owner that comes next.
        unsafe { self.held.link(line, &node) };
        let own = InFrame { node: &node, queue, abandon: ManuallyDrop::new(abandon) };
        drop(self);
        match first() {
            First::Wait => {}
            First::Leave => return own.end(queue.lock(), end),
            First::Look => {
                let guard = queue.lock();
                if node.stage.get() != Stage::Waiting {
                    return own.end(guard, end);
                }
            }
            First::LookAs(waiter) => {
                let guard = queue.lock();
                // If it was settled, there is no old one, and the new one is dropped with the rest.
                // SAFETY: the lock is held, and nothing of the node is borrowed.
                let old = unsafe { node.waiter_mut() }.replace(waiter);
                // With `LENO_PLANTED=listen` it does not look: exploration must notice.
                if node.stage.get() != Stage::Waiting && !leno_context::is_planted("listen") {
                    return own.end(guard, end);
                }
                drop(guard);
                user::discard(old);
            }
        }
        loop {
            let is_to_leave = next.sleep() == Next::Leave;
            let guard = queue.lock();
            if is_to_leave || node.stage.get() != Stage::Waiting {
                return own.end(guard, end);
            }
        }
    }
}

/// How one that has come into line goes on; of [`Guard::wait`].
pub enum First {
    /// It waits.
    Wait,
    /// It ends the wait, however that stands.
    Leave,
    /// It looks whether it was settled, and else waits: something that was called may have taken its wake.
    Look,
    /// As [`First::Look`], and another waiter is woken from now on: after user code, which may have brought a member of a
    /// ring to another thread, or after listening at a bell.
    LookAs(Waiter),
}

/// What one that was woken does; of [`Guard::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It looks whether it was settled, and else waits again.
    Look,
    /// It ends the wait, however that stands.
    Leave,
}

/// Waits for a wake, and says what then; of [`Guard::wait`]. Closures do, and what has to be compiled into its caller.
pub trait Sleep {
    /// Waits for a wake, of which there may be some that mean nothing.
    fn sleep(&mut self) -> Next;
}

impl<F: FnMut() -> Next> Sleep for F {
    #[inline(always)]
    fn sleep(&mut self) -> Next {
        self()
    }
}

/// The owner of a node in the frame of [`Guard::wait`]: unlinks it there, or when it is dropped.
struct InFrame<'n, 'c, L: Lock, S, P, const N: usize, A>
where
    A: FnOnce(Guard<'c, L, S, P, N>, Left<P>),
{
    node: &'n Raw<P>,
    queue: &'c WaitQueue<L, S, P, N>,
    abandon: ManuallyDrop<A>,
}

impl<'c, L: Lock, S, P, const N: usize, A> InFrame<'_, 'c, L, S, P, N, A>
where
    A: FnOnce(Guard<'c, L, S, P, N>, Left<P>),
{
    /// Unlinks it, and calls `end`.
    #[inline(always)]
    fn end<R>(
        self,
        mut guard: Guard<'c, L, S, P, N>,
        end: impl FnOnce(Guard<'c, L, S, P, N>, &Raw<P>) -> R,
    ) -> R {
        let mut own = ManuallyDrop::new(self);
        guard.held.unlink(own.node);
        // What abandon owns may panic when it is dropped. Then the lock is released, and what the node holds is dropped after
        // that.
        let rest = Rest(own.node);
        let guard = guard;
        // SAFETY: its destructor, which would use it, does not run any more.
        drop(unsafe { ManuallyDrop::take(&mut own.abandon) });
        core::mem::forget(rest);
        end(guard, own.node)
    }
}

impl<'c, L: Lock, S, P, const N: usize, A> Drop for InFrame<'_, 'c, L, S, P, N, A>
where
    A: FnOnce(Guard<'c, L, S, P, N>, Left<P>),
{
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it is taken once, here.
        let abandon = unsafe { ManuallyDrop::take(&mut self.abandon) };
        // By value, so that it need not be in memory while the wait goes on.
        // SAFETY: `wait` has linked it, and ends.
        unsafe { leave_unwinding(self.queue, self.node, abandon) };
    }
}

/// Leaves the line. If the lock cannot be had, because the calling code has it, the node's memory must not go.
///
/// # Safety
/// The node was linked in this queue by `wait`, and is used no more.
#[cold]
#[inline(never)]
unsafe fn leave_unwinding<'c, L: Lock, S, P, const N: usize>(
    queue: &'c WaitQueue<L, S, P, N>,
    node: &Raw<P>,
    abandon: impl FnOnce(Guard<'c, L, S, P, N>, Left<P>),
) {
    struct GiveUp;
    impl Drop for GiveUp {
        fn drop(&mut self) {
            unwind::give_up(format_args!("a wait ends while its own code has locked its queue"));
        }
    }
    // A loom program that has failed locks nothing more.
    let has_failed = cfg!(loom) && std::thread::panicking();
    if has_failed || leno_context::is_planted("queue-unlink") {
        return;
    }
    let give_up = GiveUp;
    let mut guard = queue.lock();
    core::mem::forget(give_up);
    // SAFETY: by the contract.
    let left = unsafe { guard.take_back(node) };
    abandon(guard, left);
}

/// Drops what is left in a node that was unlinked.
struct Rest<'n, P>(&'n Raw<P>);

impl<P> Drop for Rest<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: nobody else uses the node, and its owner has ended.
        if unsafe { self.0.waiter() }.is_some() {
            // SAFETY: as above, and it is not used again.
            drop(unsafe { self.0.take() });
        } else {
            // SAFETY: as above; there is nothing else in it.
            unsafe { ptr::drop_in_place(self.0.payload.get()) };
        }
    }
}
