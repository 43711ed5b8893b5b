//! A select, for futures.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use leno_kernel::layer::Alarm;
use leno_kernel::{Time, Waiter};

use super::alternative::Alternative;
use super::list::{Alternatives, And, Nothing};
use super::{Select, SelectError};

/// Takes an alternative; of [`Select::wait_async`]. If it is dropped, none is. It is `Send` if all that it
/// waits for is: over shared ends it may be awaited on any thread, over local ones only on its own.
#[must_use = "a future does nothing unless it is awaited"]
pub struct SelectFuture<'a, R, L: Alternatives<'a, R> = Nothing> {
    select: Option<Select<'a, R, L>>,
    alarm: Option<(Time, Alarm)>,
}

// Nothing in it is pinned.
impl<'a, R, L: Alternatives<'a, R>> Unpin for SelectFuture<'a, R, L> {}

/// Of a select with one alternative.
pub(crate) type OneFuture<R, A> = SelectFuture<'static, R, And<Nothing, A>>;

impl<R, A: Alternative<R>> OneFuture<R, A> {
    pub(crate) fn one(alternative: A) -> Self {
        SelectFuture::new(Select::of(And::one(alternative)))
    }
}

impl<'a, R, L: Alternatives<'a, R>> SelectFuture<'a, R, L> {
    pub(crate) fn new(select: Select<'a, R, L>) -> Self {
        SelectFuture { select: Some(select), alarm: None }
    }
}

impl<'a, R, L: Alternatives<'a, R>> Future for SelectFuture<'a, R, L> {
    type Output = Result<R, SelectError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let select = this.select.as_mut().expect("a future that was ready is polled again");
        let engine = &mut select.engine;
        let is_shared = engine.is_shared();
        let waiter = match is_shared {
            true => Waiter::Waker(context.waker().clone()),
            false => Waiter::of(context),
        };
        let is_same = engine.waiter().map(|old| old.is_same(&waiter));
        let taken = match is_same {
            Some(true) => engine.retry(),
            Some(false) => engine.renew(waiter),
            None => match engine.attempt() {
                None if select.default.is_some() || select.engine.is_hopeless() => {
                    let select = this.select.take().expect("as above");
                    return Poll::Ready(select.otherwise());
                }
                None => select.engine.enlist(waiter),
                taken => taken,
            },
        };
        let engine = &mut this.select.as_mut().expect("as above").engine;
        if let Some(taken) = taken {
            this.alarm = None;
            let result = engine.finish(taken);
            this.select = None;
            return Poll::Ready(Ok(result));
        }
        let deadline = engine.deadline();
        if this.alarm.as_ref().map(|(when, _)| *when) != deadline || is_same == Some(false) {
            this.alarm = deadline.map(|when| (when, Alarm::set(when, context)));
        }
        Poll::Pending
    }
}

impl<'a, R, L: Alternatives<'a, R>> fmt::Debug for SelectFuture<'a, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SelectFuture")
    }
}
