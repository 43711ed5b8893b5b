//! Waiting for a future where there is no `await`.

use core::pin::pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::task::{Wake as StdWake, Waker};

use crate::bell::Bell;
use crate::raw::entered::{self, Here};
use crate::wait::{self, Wake};
use crate::{Exiting, Reason};

/// Runs a future to its end: parks the calling coroutine, or blocks the calling thread, whenever the
/// future waits. Any waker may wake it.
///
/// # Cancellation
/// When the calling coroutine is to exit, the future is dropped and the coroutine's stack unwinds.
///
/// # Panics
/// Inside a future that a core polls (await it instead); and while the calling coroutine's own stack
/// unwinds, if the future is not ready at once (see [`try_block_on`]).
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, block_on};
///
/// let system = LocalSystem::new();
/// let answer = system.spawn(|| block_on(async { 42 }));
/// system.run()?;
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    match try_block_on(future) {
        Ok(output) => output,
        Err(error) => panic!("{error}"),
    }
}

/// The same.
///
/// # Errors
/// [`Exiting`], while the calling coroutine's own stack unwinds, if the future is not ready at once.
///
/// # Panics
/// Inside a future that a core polls.
#[track_caller]
pub fn try_block_on<F: Future>(future: F) -> Result<F::Output, Exiting> {
    let waker = entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => Some(inside.task.waker(inside.co)),
        Here::Thread => None,
        Here::Future(..) => panic!(
            "block_on inside a future: it would block all coroutines of its core; await instead"
        ),
    });
    let Some(waker) = waker else { return Ok(block_thread_on(future)) };
    let result = {
        let mut future = pin!(future);
        let mut context = Context::from_waker(&waker);
        loop {
            let parks = wait::parks();
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                break Some(output);
            }
            if wait::parks() != parks {
                // The future has parked itself, and may have taken a wake that is meant for it: it is polled again.
                waker.wake_by_ref();
            }
            if wait::park(Reason::Future) == Wake::Exit {
                break None;
            }
        }
    };
    // The future is dropped by now: it has withdrawn whatever it waited for.
    result.ok_or_else(wait::exit)
}

fn block_thread_on<F: Future>(future: F) -> F::Output {
    struct Ring(Bell);
    impl StdWake for Ring {
        fn wake(self: Arc<Self>) {
            self.0.ring();
        }
    }
    let ring = Arc::new(Ring(Bell::new()));
    let waker = Waker::from(ring.clone());
    let mut future = pin!(future);
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        ring.0.wait();
    }
}
