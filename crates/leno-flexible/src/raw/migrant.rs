//! Bodies with a stack in a system without a home core: whichever thread steers goes on with them.
//!
//! Such a body is a future to its system, as any other there: polling it runs its stack until it waits. One
//! thread at a time polls it, since one at a time has the helm, and each sees what the last one has done,
//! since the body goes through the table, which has a lock. So a migrant that belongs to another thread is
//! always there to be stolen: it was offered when that thread's poll came back.
//!
//! Claims:
//! - Nothing of this crate that is bound to a thread is alive on such a stack while it is suspended. It is
//!   suspended in [`Stack::suspend`] alone, which nothing is inlined into, and whatever uses thread-locals is
//!   not inlined into those who call that (`turn.rs`, [`poll`]). What the user's part of the stack has is the
//!   user's promise.
//! - A body that is tied to its thread, by a lock or a pinned section, is not suspended.
//!
//! Deliberately not here: what a body can do, which is in `migrant_me.rs`, and safe.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use leno_context::control::Control;
use leno_context::unwind;
use leno_coroutine::migrate::Migrant;
use leno_coroutine::{Builder, ResumeError, Step, Suspender};

use crate::{AsyncBuilder, AsyncMe, Flexible, MigrantMe, Threadless};

/// The stack of a body that runs.
pub(crate) struct Stack<'a>(&'a Suspender<(), ()>);

impl Stack<'_> {
    fn block(&self) -> &Control {
        let control = self.0.status().control().expect("whoever has it runs on it");
        // SAFETY: whoever can use a suspender is inside its coroutine, which therefore is alive, and this
        // thread's for now; the reference does not outlive the call that is made through it.
        unsafe { control.as_ref() }
    }

    /// Whether it may be left: not while it unwinds.
    pub(crate) fn can_suspend(&self) -> bool {
        unwind::can_suspend(self.block())
    }

    /// Whether something on it belongs to this thread.
    pub(crate) fn is_tied(&self) -> bool {
        self.block().pins.get() != 0
    }

    /// Leaves it, until its body is polled again, perhaps on another thread.
    #[inline(never)]
    pub(crate) fn suspend(&self) {
        self.0.suspend(());
    }
}

/// Polls a future on a stack that changes threads: in a frame of its own, so that no address of a
/// thread-local is kept in one that is suspended.
#[inline(never)]
pub(crate) fn poll<F: Future>(future: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
    future.poll(context)
}

/// A body with a stack, as a future.
struct OnStack<P, R, B> {
    step: Body<P, R, B>,
}

enum Body<P, R, B> {
    New {
        me: AsyncMe<P, R>,
        name: Arc<str>,
        stack_size: Option<usize>,
        body: B,
    },
    Started(Migrant<(), (), ()>),
    /// It has ended, or could not begin.
    Over,
}

// Nothing in it is pinned: what must stay where it is, is on the stack.
impl<P, R, B> Unpin for OnStack<P, R, B> {}

impl<P: Send + 'static, R: Send + 'static, B> Future for OnStack<P, R, B>
where
    B: FnOnce(&mut MigrantMe<'_, P, R>) + Send + 'static,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let migrant = match core::mem::replace(&mut self.step, Body::Over) {
            Body::New { me, name, stack_size, body } => {
                let mut builder = Builder::new().name(name.clone());
                if let Some(bytes) = stack_size {
                    builder = builder.stack_size(bytes);
                }
                let waker = context.waker().clone();
                let runs = move |suspender: &Suspender<(), ()>, ()| {
                    body(&mut MigrantMe::new(me, name, Stack(suspender), waker));
                };
                // SAFETY: whoever made the coroutine has promised it for the body; what is around it here
                // may be used by any thread.
                let made = unsafe { builder.migratable(runs) };
                made.unwrap_or_else(|error| panic!("a flexible coroutine cannot start: {error}"))
            }
            Body::Started(migrant) => migrant,
            Body::Over => panic!("a body was polled after its end"),
        };
        loop {
            match migrant.try_resume(()) {
                Ok(Step::Suspended(())) => {
                    self.step = Body::Started(migrant);
                    return Poll::Pending;
                }
                Ok(Step::Finished(())) => return Poll::Ready(()),
                // Whoever steers has it, see the module: it can be taken, and is this thread's then.
                Err(ResumeError::OtherThread { .. }) => {
                    if let Err(error) = migrant.steal() {
                        panic!("{error}");
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl AsyncBuilder {
    /// Makes a coroutine with a stack, that goes from thread to thread: idle, and without a stack until it
    /// first runs. (Rules 4.3, 4.11.)
    ///
    /// # Safety
    /// Whenever the body waits, in whatever operation of its [`MigrantMe`], what is alive on its stack, and
    /// what its coroutine-locals hold, may be used and dropped by another thread from then on: nothing that
    /// is not `Send`, no reference to a thread-local, no guard that must be released by the thread that has
    /// acquired it. The compiler cannot check a stack. It may also keep the address of a thread-local: the body
    /// uses none in a function that waits. This is the promise of [`leno_coroutine::Builder::migratable`].
    ///
    /// # Panics
    /// Not here: if there is no stack when it first runs, whoever has called it gets
    /// [`CallError::Failed`](crate::CallError::Failed).
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::{MigrantMe, Threadless};
    ///
    /// let system = Threadless::new();
    /// let builder = system.coroutine("next").attached_only().stack_size(256 * 1024);
    /// // SAFETY: the body keeps nothing but a number while it waits.
    /// let next = unsafe {
    ///     builder.create_migratable(|me: &mut MigrantMe<(), u32>| (1..).for_each(|n| me.detach(n)))
    /// };
    /// assert_eq!((next.call(())?, next.call(())?), (1, 2));
    /// # Ok::<(), leno_flexible::CallError>(())
    /// ```
    pub unsafe fn create_migratable<P: Send + 'static, R: Send + 'static>(
        self,
        body: impl FnOnce(&mut MigrantMe<'_, P, R>) + Send + 'static,
    ) -> Flexible<P, R> {
        let (name, stack_size) = (self.name(), self.stack_size_hint());
        self.create(|me| OnStack { step: Body::New { me, name, stack_size, body } })
    }
}

impl Threadless {
    /// Makes a coroutine with a stack, that goes from thread to thread: idle. (Rule 4.11.)
    ///
    /// # Safety
    /// As [`AsyncBuilder::create_migratable`].
    ///
    /// # Examples
    /// ```
    /// use leno_flexible::{MigrantMe, Threadless};
    ///
    /// let system = Threadless::new();
    /// // SAFETY: the body keeps nothing but numbers while it waits.
    /// let sum = unsafe {
    ///     system.create_migratable("sum", |me: &mut MigrantMe<u32, u32>| {
    ///         let mut sum = 0;
    ///         loop {
    ///             sum += me.parameter().unwrap_or(0);
    ///             me.detach(sum);
    ///         }
    ///     })
    /// };
    /// std::thread::scope(|s| {
    ///     s.spawn(|| sum.call(3).unwrap());
    ///     s.spawn(|| sum.call(4).unwrap());
    /// });
    /// assert_eq!(sum.call(0)?, 7);
    /// # Ok::<(), leno_flexible::CallError>(())
    /// ```
    pub unsafe fn create_migratable<P: Send + 'static, R: Send + 'static>(
        &self,
        name: impl Into<Arc<str>>,
        body: impl FnOnce(&mut MigrantMe<'_, P, R>) + Send + 'static,
    ) -> Flexible<P, R> {
        // SAFETY: forwarded.
        unsafe { self.coroutine(name).create_migratable(body) }
    }
}
