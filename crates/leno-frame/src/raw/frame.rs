//! A frame: the future of one activation of a function, and then its result.
//!
//! Claim: the future is not moved from the first poll until it is dropped. It is in a box, which is never
//! opened; its result takes its place only after it was dropped there.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(crate) type Frame = Pin<Box<dyn Activation>>;

pub(crate) trait Activation: Send {
    /// Whether it is done.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool;

    /// Moves the result of a frame that is done into `to`, an `Option` of its type.
    fn result(self: Pin<&mut Self>, to: &mut dyn Any);
}

enum Place<F: Future> {
    Running(F),
    Done(Option<F::Output>),
}

pub(crate) fn frame<F>(future: F) -> Frame
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    Box::pin(Place::Running(future))
}

impl<F> Activation for Place<F>
where
    F: Future<Output: Send + 'static> + Send,
{
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        // SAFETY: what is pinned is the future alone. It is not moved below: it is polled in place, and
        // dropped in place by the assignment.
        let place = unsafe { self.get_unchecked_mut() };
        let Place::Running(future) = place else {
            unreachable!("a frame that is done is not polled")
        };
        // SAFETY: `place` was pinned, and the future with it.
        let future = unsafe { Pin::new_unchecked(future) };
        match future.poll(cx) {
            Poll::Ready(result) => {
                *place = Place::Done(Some(result));
                true
            }
            Poll::Pending => false,
        }
    }

    fn result(self: Pin<&mut Self>, to: &mut dyn Any) {
        // SAFETY: the future, if it is still there, is not touched; a result is not pinned.
        let place = unsafe { self.get_unchecked_mut() };
        if let (Place::Done(result), Some(to)) = (place, to.downcast_mut::<Option<F::Output>>()) {
            *to = result.take();
        }
    }
}
