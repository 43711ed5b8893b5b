//! What blocks, on the kernel's helper threads.
//!
//! A call is handed over to a helper with all that it needs. Whoever waits may withdraw it as long as
//! no helper has begun; after that it goes on to its end.
//!
//! ```text
//!   waiting --a helper takes it--> begun --> done --> taken
//!   waiting --withdraw--> taken
//! ```
//! The stage is the state of a [wait queue](leno_kernel::layer::queue). In its line is the code that waits until it is done: it
//! looks, and comes into line, under one lock; the helper ends the wait when it has written the result down.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use leno_kernel::layer::bell::Bell;
use leno_kernel::layer::queue::{self, First, Guard, HeapNode, Next, Shared, WaitQueue};
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::{Reason, Time, Waiter, help};

use super::flight::{self, Ended, Flight};

struct Call<F, T> {
    queue: WaitQueue<Shared, Stage<F, T>, (), 1>,
}

/// The line of those who wait until it is done.
const LINE: usize = 0;

type Locked<'a, F, T> = Guard<'a, Shared, Stage<F, T>, (), 1>;

enum Stage<F, T> {
    Waiting(F),
    Begun,
    Done(Result<T, Panic>),
    Taken,
}

impl<F, T> Stage<F, T> {
    /// Whether nobody waits for a helper any more.
    fn is_over(&self) -> bool {
        matches!(self, Stage::Done(_) | Stage::Taken)
    }
}

impl<F: FnOnce() -> T + Send + 'static, T: Send + 'static> Call<F, T> {
    /// Hands it over. Whoever gets it withdraws it by dropping it, also if this function panics.
    fn start(f: F) -> Called<F, T> {
        let called = Called(Arc::new(Call { queue: WaitQueue::new(Stage::Waiting(f)) }));
        let job = called.0.clone();
        help(move || job.run());
        called
    }

    fn run(&self) {
        let Stage::Waiting(f) = self.replace_if_waiting(Stage::Begun) else { return };
        let result = user::call(f);
        let mut stage = self.lock();
        *stage = Stage::Done(result);
        let woken = stage.settle_all(LINE, queue::Stage::Met);
        drop(stage);
        user::wake_all(woken);
    }
}

impl<F, T> Call<F, T> {
    #[track_caller]
    fn lock(&self) -> Locked<'_, F, T> {
        self.queue.lock()
    }

    /// The closure, if nobody has taken it; else nothing changes, and [`Stage::Taken`] says so.
    fn replace_if_waiting(&self, next: Stage<F, T>) -> Stage<F, T> {
        let mut stage = self.lock();
        match *stage {
            Stage::Waiting(_) => core::mem::replace(&mut *stage, next),
            _ => Stage::Taken,
        }
    }

    /// The result, unless it was withdrawn; if it is there.
    fn take(&self) -> Option<T> {
        let taken = {
            let mut stage = self.lock();
            match *stage {
                Stage::Done(_) => core::mem::replace(&mut *stage, Stage::Taken),
                _ => Stage::Taken,
            }
        };
        match taken {
            Stage::Done(result) => Some(result.unwrap_or_else(|panic| panic.resume())),
            _ => None,
        }
    }
}

impl<F, T> Flight for Call<F, T> {
    fn wait(&self, waiter: Waiter, next: impl FnMut() -> Next) -> bool {
        let stage = self.lock();
        if stage.is_over() {
            return true;
        }
        let end = |stage: Locked<'_, F, T>, _, _: &mut ()| stage.is_over();
        stage.wait_then(LINE, waiter, (), || First::Wait, next, |_, _| (), end)
    }

    fn cancel(&self) {
        // The closure is dropped when no lock is held.
        drop(self.replace_if_waiting(Stage::Taken));
    }

    fn block(&self) {
        let bell = Arc::new(Bell::new());
        let next = || {
            bell.wait();
            Next::Look
        };
        while !self.wait(Waiter::Thread(bell.clone()), next) {}
    }
}

/// Has a helper call `f`, and waits for it. Its result is there unless it was withdrawn.
///
/// # Panics
/// With the panic of the closure; inside a future that a core polls.
#[track_caller]
pub(crate) fn call<T: Send + 'static>(
    deadline: Option<Time>,
    f: impl FnOnce() -> T + Send + 'static,
) -> (Ended, Option<T>) {
    // Withdrawn when a clock, which is code of a user, panics in the middle of the wait.
    let called = Call::start(f);
    let ended = flight::wait(&*called.0, Reason::Blocking, deadline);
    (ended, called.0.take())
}

/// The same for a future. When it is dropped, a call that has begun goes on, and its result is dropped.
pub(crate) async fn call_async<T, F>(f: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let called = Call::start(f);
    Done { call: &called.0, place: None }.await
}

/// Withdraws its call when it is dropped.
struct Called<F, T>(Arc<Call<F, T>>);

impl<F, T> Drop for Called<F, T> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Waits until a call is done, for a future.
struct Done<'a, F, T> {
    call: &'a Call<F, T>,
    place: Option<HeapNode<'a, Shared, Stage<F, T>, (), 1>>,
}

impl<F, T> Future for Done<'_, F, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let waiter = Waiter::Waker(context.waker().clone());
        let mut stage = this.call.lock();
        if !stage.is_over() {
            let left = stage.link_again(&mut this.place, LINE, waiter, ());
            drop(stage);
            // The waker before this one is code of others.
            user::discard(left);
            return Poll::Pending;
        }
        drop(stage);
        user::discard((this.place.take(), waiter));
        Poll::Ready(this.call.take().expect("nobody else takes it"))
    }
}

#[cfg(test)]
mod tests;
