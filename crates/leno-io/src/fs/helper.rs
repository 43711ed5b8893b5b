//! What blocks, on the kernel's helper threads.
//!
//! A call is handed over to a helper with all that it needs. Whoever waits may withdraw it as long as
//! no helper has begun; after that it goes on to its end.
//!
//! ```text
//!   waiting --a helper takes it--> begun --> done --> taken
//!   waiting --withdraw--> taken
//! ```

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Condvar, Mutex};

use leno_kernel::user::{self, Panic};
use leno_kernel::{Reason, Time, Waiter, help};

use super::flight::{self, Ended, Flight};
use crate::user::{Locked, lock};

struct Call<F, T> {
    state: Mutex<State<F, T>>,
    landed: Condvar,
}

struct State<F, T> {
    stage: Stage<F, T>,
    waiter: Option<Waiter>,
}

enum Stage<F, T> {
    Waiting(F),
    Begun,
    Done(Result<T, Panic>),
    Taken,
}

impl<F: FnOnce() -> T + Send + 'static, T: Send + 'static> Call<F, T> {
    /// Hands it over. Whoever gets it withdraws it by dropping it, also if this function panics.
    fn start(f: F) -> Called<F, T> {
        let state = State { stage: Stage::Waiting(f), waiter: None };
        let called = Called(Arc::new(Call { state: Mutex::new(state), landed: Condvar::new() }));
        let job = called.0.clone();
        help(move || job.run());
        called
    }

    fn run(&self) {
        let Stage::Waiting(f) = self.replace_if_waiting(Stage::Begun) else { return };
        let result = user::call(f);
        let mut state = self.state();
        state.stage = Stage::Done(result);
        let waiter = state.waiter.take();
        drop(state);
        self.landed.notify_all();
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl<F, T> Call<F, T> {
    #[track_caller]
    fn state(&self) -> Locked<'_, State<F, T>> {
        lock(&self.state)
    }

    /// The closure, if nobody has taken it; else nothing changes, and [`Stage::Taken`] says so.
    fn replace_if_waiting(&self, next: Stage<F, T>) -> Stage<F, T> {
        let mut state = self.state();
        match state.stage {
            Stage::Waiting(_) => core::mem::replace(&mut state.stage, next),
            _ => Stage::Taken,
        }
    }

    /// The result, unless it was withdrawn; if it is there.
    fn take(&self) -> Option<T> {
        let stage = {
            let mut state = self.state();
            match state.stage {
                Stage::Done(_) => core::mem::replace(&mut state.stage, Stage::Taken),
                _ => Stage::Taken,
            }
        };
        match stage {
            Stage::Done(result) => Some(result.unwrap_or_else(|panic| panic.resume())),
            _ => None,
        }
    }
}

impl<F, T> Flight for Call<F, T> {
    fn has_landed(&self, waiter: &Waiter) -> bool {
        let mut waiter = Some(waiter.clone());
        let mut state = self.state();
        let has_landed = matches!(state.stage, Stage::Done(_) | Stage::Taken);
        if !has_landed {
            core::mem::swap(&mut state.waiter, &mut waiter);
        }
        drop(state);
        // Whoever was to be woken before is dropped when no lock is held: it may be code of others.
        user::discard(waiter);
        has_landed
    }

    fn cancel(&self) {
        // The closure is dropped when no lock is held.
        drop(self.replace_if_waiting(Stage::Taken));
    }

    fn block(&self) {
        let is_aloft =
            |state: &mut State<F, T>| matches!(state.stage, Stage::Waiting(_) | Stage::Begun);
        self.state().wait_while(&self.landed, is_aloft);
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
    Call::start(f).await
}

/// Withdraws its call when it is dropped.
struct Called<F, T>(Arc<Call<F, T>>);

impl<F, T> Future for Called<F, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if !self.0.has_landed(&Waiter::Waker(context.waker().clone())) {
            return Poll::Pending;
        }
        Poll::Ready(self.0.take().expect("nobody else takes it"))
    }
}

impl<F, T> Drop for Called<F, T> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
