//! What can be journaled: anything that goes on by an input, and answers.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use leno_context::user::lock;

use crate::resumable::{Resumable, State};

/// Something that was run to its first suspension and goes on by inputs: a [`Resumable`], what [`run`]
/// returns, or a closure `FnMut(I) -> State<Y, T>`, which may go on with a stackful coroutine.
pub trait Body<I> {
    /// What it suspends with.
    type Yield;
    /// What it returns.
    type Output;

    /// Goes on with an input until it suspends again or returns. It is not called after that.
    fn go(&mut self, input: I) -> State<Self::Yield, Self::Output>;
}

impl<F, I, Y, T> Body<I> for F
where
    F: FnMut(I) -> State<Y, T>,
{
    type Yield = Y;
    type Output = T;

    fn go(&mut self, input: I) -> State<Y, T> {
        self(input)
    }
}

impl<Y, I, T> Body<I> for Resumable<Y, I, T>
where
    Y: Send + 'static,
    I: Send + 'static,
    T: Send + 'static,
{
    type Yield = Y;
    type Output = T;

    fn go(&mut self, input: I) -> State<Y, T> {
        self.resume(&mut (), input)
    }
}

struct Mail<Y, I> {
    out: Option<Y>,
    input: Option<I>,
}

type Desk<Y, I> = Arc<Mutex<Mail<Y, I>>>;

/// Calls `with`, which calls no user code, with the lock held.
fn at<Y, I, R>(desk: &Desk<Y, I>, with: impl FnOnce(&mut Mail<Y, I>) -> R) -> R {
    with(&mut lock(desk))
}

/// How plain async code suspends: `pen.suspend(value).await` is the next input.
pub struct Pen<Y, I>(Desk<Y, I>);

impl<Y, I> Pen<Y, I> {
    /// Hands `value` out and waits for the next input.
    pub async fn suspend(&self, value: Y) -> I {
        let before = at(&self.0, |mail| mail.out.replace(value));
        // Its `Drop` may use the pen, so it ends when the lock is free.
        drop(before);
        poll_fn(|_| match at(&self.0, |mail| mail.input.take()) {
            Some(input) => Poll::Ready(input),
            None => Poll::Pending,
        })
        .await
    }
}

impl<Y, I> fmt::Debug for Pen<Y, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pen")
    }
}

/// Plain async code as a body. It awaits nothing but its pen.
pub struct Async<Y, I, T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    desk: Desk<Y, I>,
}

/// Runs plain async code to its first suspension.
///
/// # Panics
/// If the code panics, or awaits anything but its pen.
pub fn run<Y, I, T, F>(body: impl FnOnce(Pen<Y, I>) -> F) -> (Async<Y, I, T>, State<Y, T>)
where
    F: Future<Output = T> + Send + 'static,
{
    let desk: Desk<Y, I> = Arc::new(Mutex::new(Mail { out: None, input: None }));
    let mut this = Async { future: Box::pin(body(Pen(desk.clone()))), desk };
    let state = this.poll();
    (this, state)
}

impl<Y, I, T> Async<Y, I, T> {
    fn poll(&mut self) -> State<Y, T> {
        match self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => State::Complete(result),
            Poll::Pending => State::Suspended(
                at(&self.desk, |mail| mail.out.take())
                    .expect("a journaled body has awaited something else than its pen"),
            ),
        }
    }
}

impl<Y, I, T> Body<I> for Async<Y, I, T> {
    type Yield = Y;
    type Output = T;

    fn go(&mut self, input: I) -> State<Y, T> {
        let before = at(&self.desk, |mail| mail.input.replace(input));
        drop(before);
        self.poll()
    }
}

impl<Y, I, T> fmt::Debug for Async<Y, I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Async")
    }
}
