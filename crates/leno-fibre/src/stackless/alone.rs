//! By what alone a fibre without a stack can be woken.
//!
//! A future may wait for anything: two channels at once, a timer, a socket, another executor. If its
//! ends are bound, it must be known whether nothing but those channels could ever wake it; else it
//! would be removed wrongly, or never.
//!
//! So its body is polled with a waker of its own, the *relay*. The operations of [`In`](crate::In) and
//! [`Out`](crate::Out) that are polled with the relay stand in line under the name of the fibre instead,
//! and are written down as long as they do. Everything else that wants to wake the fibre keeps the relay,
//! or something that does. If, after a poll, nobody has it, then the fibre can be woken by what is written
//! down, and by nothing else: nobody gets a relay later but from one that has it.

use core::cell::Cell;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use leno_context::user::StateCell;
use leno_kernel::Co;
use leno_kernel::layer::ledger::{self, End};
use leno_kernel::layer::user::{self, lock};

/// What the context of a fibre without a stack shares with whoever polls it.
#[derive(Default)]
pub(super) struct Own {
    /// Known when it is first polled.
    pub(super) co: Cell<Option<Co>>,
    /// While a body with bound ends is polled: its relay, and the core's own waker.
    wakers: Cell<Option<(Waker, Waker)>>,
    /// The ends by which operations of this fibre that stand in line under its name are woken.
    stand: StateCell<Vec<End>>,
}

impl Own {
    /// Waits for an operation that is woken by whoever uses `end`.
    pub(super) async fn wait<F: Future>(&self, end: End, operation: F) -> F::Output {
        let mut operation = pin!(operation);
        let mut stands = None;
        let polled = |context: &mut Context<'_>| {
            // Whoever has wrapped the relay wants to be woken itself.
            let Some(core) = self.behind(context.waker()) else {
                return operation.as_mut().poll(context);
            };
            let polled = operation.as_mut().poll(&mut Context::from_waker(&core));
            if polled.is_pending() && stands.is_none() {
                stands = Some(Stands::new(self, end));
            }
            polled
        };
        poll_fn(polled).await
    }

    /// The core's waker, if this one is the relay.
    fn behind(&self, waker: &Waker) -> Option<Waker> {
        // Taken out meanwhile, as to clone a waker runs code.
        let (relay, core) = self.wakers.take()?;
        let behind = waker.will_wake(&relay).then(|| core.clone());
        self.wakers.set(Some((relay, core)));
        behind
    }
}

/// That an operation stands in line, or may.
struct Stands<'a> {
    own: &'a Own,
    end: End,
}

impl<'a> Stands<'a> {
    fn new(own: &'a Own, end: End) -> Stands<'a> {
        own.stand.borrow_mut().push(end);
        Stands { own, end }
    }
}

impl Drop for Stands<'_> {
    fn drop(&mut self) {
        let mut stand = self.own.stand.borrow_mut();
        let at = stand.iter().position(|end| *end == self.end);
        stand.swap_remove(at.expect("it was written down"));
    }
}

/// Has the core's waker while a body is polled, and as long as others have it.
#[derive(Default)]
struct Relay {
    core: Mutex<Option<Waker>>,
}

impl Relay {
    /// Takes the place of the core's waker that it had.
    fn set(&self, core: Option<Waker>) {
        // A waker that is dropped runs code, so not under the lock.
        let before = core::mem::replace(&mut *lock(&self.core), core);
        user::discard(before);
    }
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Taken, as to clone it runs code, too. Once is enough: the next poll brings another one.
        let core = lock(&self.core).take();
        if let Some(core) = core {
            core.wake();
        }
    }
}

/// A body whose ends are bound: when it waits, it says by what alone it can be woken.
pub(super) struct Alone<F> {
    body: Pin<Box<F>>,
    own: Rc<Own>,
    /// One that nobody else has, to be used again.
    relay: Option<Arc<Relay>>,
}

impl<F: Future> Alone<F> {
    pub(super) fn new(own: Rc<Own>, body: F) -> Alone<F> {
        Alone { body: Box::pin(body), own, relay: None }
    }
}

impl<F: Future> Future for Alone<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let relay = self.relay.take().unwrap_or_default();
        relay.set(Some(context.waker().clone()));
        let waker = Waker::from(relay.clone());
        drop(self.own.wakers.replace(Some((waker.clone(), context.waker().clone()))));
        let polled = self.body.as_mut().poll(&mut Context::from_waker(&waker));
        drop(self.own.wakers.take());
        drop(waker);
        if Arc::strong_count(&relay) > 1 {
            ledger::only_by(Vec::new());
            return polled;
        }
        relay.set(None);
        self.relay = Some(relay);
        if polled.is_pending() {
            ledger::only_by(self.own.stand.borrow().clone());
        }
        polled
    }
}
