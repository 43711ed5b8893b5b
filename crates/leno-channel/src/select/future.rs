//! A select, for futures.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use leno_kernel::{Alarm, Time, Waiter};

use super::{Select, SelectError};

/// Takes an alternative; of [`Select::wait_async`]. If it is dropped, none is.
#[must_use = "a future does nothing unless it is awaited"]
pub struct SelectFuture<'a, R> {
    select: Option<Select<'a, R>>,
    alarm: Option<(Time, Alarm)>,
}

// Nothing in it is pinned.
impl<R> Unpin for SelectFuture<'_, R> {}

impl<'a, R> SelectFuture<'a, R> {
    pub(crate) fn new(select: Select<'a, R>) -> Self {
        SelectFuture { select: Some(select), alarm: None }
    }
}

impl<R> Future for SelectFuture<'_, R> {
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
                None if select.default.is_some() || select.engine.alternatives.is_empty() => {
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

impl<R> fmt::Debug for SelectFuture<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SelectFuture")
    }
}
