//! Waiting until an operation is worth trying, for futures and selects.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;
use std::os::fd::AsFd;

use leno_channel::Source;
use leno_kernel::io::WaitFuture;
use leno_kernel::{Time, Waiter};

use super::patience::Patience;
use crate::memory;
use crate::time::AlarmClock;

/// Waits until an operation is worth trying; of a socket's `readable`, `writable` and `acceptable`.
/// It is a future, and an alternative of a select. When it is dropped, it waits no more.
///
/// That it is worth trying is no promise: another may come first. So the operation that follows in a
/// select is a `try_` one.
///
/// # Examples
/// ```
/// use leno_channel::{Select, shared};
/// use leno_io::net::UnixStream;
/// use std::io::Write;
///
/// let (near, mut far) = UnixStream::pair()?;
/// let (_stop, stopped) = shared::channel::<()>();
/// far.write_all(b"hello")?;
/// let mut buffer = [0; 8];
/// let count = Select::new()
///     .recv(&stopped, |_| Ok(0))
///     .source(near.readable(), |ready| ready.and_then(|()| near.try_read(&mut buffer)))
///     .wait()??;
/// assert_eq!(&buffer[..count], b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct Ready<'a, S: AsFd> {
    waiting: Waiting<'a, S>,
    /// Of a listener.
    patience: Option<&'a Patience>,
    alarm: AlarmClock,
}

enum Waiting<'a, S: AsFd> {
    Os(WaitFuture<'a, S>),
    Memory(memory::Ready<'a>),
}

impl<'a, S: AsFd> Ready<'a, S> {
    pub(super) fn os(wait: WaitFuture<'a, S>) -> Ready<'a, S> {
        Ready::new(Waiting::Os(wait))
    }

    pub(super) fn memory(wait: memory::Ready<'a>) -> Ready<'a, S> {
        Ready::new(Waiting::Memory(wait))
    }

    fn new(waiting: Waiting<'a, S>) -> Ready<'a, S> {
        Ready { waiting, patience: None, alarm: AlarmClock::default() }
    }

    /// Not before a listener's pause is over.
    pub(super) fn with(self, patience: &'a Patience) -> Ready<'a, S> {
        Ready { patience: Some(patience), ..self }
    }

    /// When the pause is over, if there is one.
    fn pause(&self) -> Option<Time> {
        self.patience.and_then(Patience::until)
    }
}

impl<S: AsFd> Future for Ready<'_, S> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(until) = self.pause() {
            ready!(self.alarm.poll(until, context));
        }
        match &mut self.waiting {
            Waiting::Os(wait) => Pin::new(wait).poll(context).map_ok(drop),
            Waiting::Memory(wait) => Pin::new(wait).poll(context),
        }
    }
}

impl<S: AsFd> Source for Ready<'_, S> {
    type Item = io::Result<()>;

    fn take(&mut self) -> Option<io::Result<()>> {
        if self.pause().is_some() {
            return None;
        }
        match &mut self.waiting {
            Waiting::Os(wait) => Some(wait.try_wait()?.map(drop)),
            Waiting::Memory(wait) => wait.take(),
        }
    }

    fn wait(&mut self, waiter: &Waiter) {
        match &mut self.waiting {
            Waiting::Os(wait) => wait.set_waiter(waiter),
            Waiting::Memory(wait) => wait.wait(waiter),
        }
    }

    fn leave(&mut self, waiter: &Waiter) {
        match &mut self.waiting {
            Waiting::Os(wait) => wait.remove_waiter(),
            Waiting::Memory(wait) => wait.leave(waiter),
        }
    }

    fn is_ready(&self) -> bool {
        self.pause().is_none()
            && match &self.waiting {
                Waiting::Os(wait) => wait.is_ready(),
                Waiting::Memory(wait) => wait.is_ready(),
            }
    }

    fn deadline(&self) -> Option<Time> {
        let waiting = match &self.waiting {
            Waiting::Os(_) => None,
            Waiting::Memory(wait) => wait.deadline(),
        };
        self.pause().or(waiting)
    }

    fn is_shared(&self) -> bool {
        match &self.waiting {
            Waiting::Os(_) => true,
            Waiting::Memory(wait) => wait.is_shared(),
        }
    }
}

impl<S: AsFd> fmt::Debug for Ready<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.waiting {
            Waiting::Os(wait) => wait.fmt(f),
            Waiting::Memory(wait) => wait.fmt(f),
        }
    }
}
