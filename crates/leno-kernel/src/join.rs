//! Waiting for a coroutine's end and taking its result.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::any::Any;
use std::sync::Arc;

use crate::options::Start;
use crate::raw::entered::{self, Here};
use crate::sync::{
    AtomicBool, AtomicU64, Mutex,
    Ordering::{Relaxed, SeqCst},
    lock,
};
use crate::wait::{self, Waiter};
use crate::{Co, Name, Object, Outcome, Reason, Wake, local, user, world};

/// What a coroutine leaves behind for whoever waits for it.
pub(crate) struct Packet<T> {
    inner: Mutex<Inner<T>>,
    /// Which coroutine it is; 0 until a core has it.
    co: AtomicU64,
    /// What was asked for before a core had it.
    cancelled: AtomicBool,
    unparked: AtomicBool,
    /// It starts when someone waits for it, which nobody has done yet.
    is_lazy: AtomicBool,
    /// Names its system.
    system: Object,
}

struct Inner<T> {
    result: Option<Result<T, Ended>>,
    is_done: bool,
    waiters: Vec<Waiter>,
}

impl<T> Inner<T> {
    /// Keeps a waiter, unless it is there. One that is not needed is for the caller to drop when the lock is
    /// free: that may be code of a user.
    fn add(&mut self, waiter: Waiter) -> Option<Waiter> {
        if self.waiters.iter().any(|other| other.is_same(&waiter)) {
            return Some(waiter);
        }
        self.waiters.push(waiter);
        None
    }
}

/// A result that nobody has taken is a user's: whoever lets the packet go last, a core, say, outlives its
/// destructor.
/// The result that nobody has taken is dropped after everything else: its panic goes to whoever drops the packet, the
/// core of the coroutine or the owner of the handle. While that unwinds, it goes to the failure hook.
impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        let Ok(inner) = self.inner.get_mut() else { return };
        let (result, waiters) = (inner.result.take(), core::mem::take(&mut inner.waiters));
        user::discard_all(waiters);
        if std::thread::panicking() {
            user::discard(result);
        } else {
            drop(result);
        }
    }
}

/// How a coroutine ended, if not by returning.
pub(crate) enum Ended {
    Panicked(Box<dyn Any + Send>),
    Otherwise(Outcome),
}

impl<T> Packet<T> {
    pub(crate) fn new(system: Object, start: Start) -> Arc<Packet<T>> {
        let inner = Inner { result: None, is_done: false, waiters: Vec::new() };
        Arc::new(Packet {
            inner: Mutex::new(inner),
            co: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            unparked: AtomicBool::new(false),
            is_lazy: AtomicBool::new(start == Start::Lazy),
            system,
        })
    }

    /// Has a waiter woken at the end, unless that has come.
    fn add_waiter(&self, waiter: Waiter) {
        let mut inner = lock(&self.inner);
        let is_late = inner.is_done;
        let unused = if is_late { Some(waiter) } else { inner.add(waiter) };
        drop(inner);
        user::discard(unused);
    }

    /// Leaves the result, and wakes whoever waits for it.
    fn finish(&self, result: Result<T, Ended>) {
        let mut inner = lock(&self.inner);
        let before = inner.result.replace(result);
        inner.is_done = true;
        let waiters = core::mem::take(&mut inner.waiters);
        drop(inner);
        if before.is_some() {
            user::discard(before);
        }
        if leno_context::is_planted("waker-at-end") {
            waiters.into_iter().for_each(user::wake_unguarded);
        } else if !waiters.is_empty() {
            user::wake_all(waiters);
        }
    }
}

/// Whoever waits for a coroutine, as its core sees them.
pub(crate) trait Adoption {
    /// A core has it now. Returns what was asked for before: to unpark it, to cancel it.
    fn adopted(&self, co: Co) -> (bool, bool);

    /// Its body will never end.
    fn abandon(&self);
}

impl<T> Adoption for Packet<T> {
    fn adopted(&self, co: Co) -> (bool, bool) {
        // Whoever asks writes first what it wants and then looks who it is; so one of both sees the
        // other. If both do, it is done twice, which is harmless.
        self.co.store(co.bits(), SeqCst);
        (self.unparked.load(SeqCst), self.cancelled.load(SeqCst))
    }

    fn abandon(&self) {
        self.finish(Err(Ended::Otherwise(Outcome::Exited)));
    }
}

/// Fills a packet once; with how its coroutine is to end, by default "exited", if it is dropped before.
pub(crate) struct Filler<T>(Option<Arc<Packet<T>>>);

impl<T> Filler<T> {
    pub(crate) fn new(packet: Arc<Packet<T>>) -> Filler<T> {
        Filler(Some(packet))
    }

    /// Fills it. A panic that nobody will ever take is given back.
    pub(crate) fn finish(mut self, result: Result<T, Ended>) -> Option<Box<dyn Any + Send>> {
        let packet = self.0.take().expect("filled once");
        // One is ours, one its core's.
        match (result, Arc::strong_count(&packet)) {
            (Err(Ended::Panicked(payload)), ..=2) => Some(payload),
            (result, _) => {
                packet.finish(result);
                None
            }
        }
    }
}

impl<T> Drop for Filler<T> {
    fn drop(&mut self) {
        if let Some(packet) = self.0.take() {
            let own = Co::from_bits(packet.co.load(SeqCst));
            let outcome = entered::here(|here| match here {
                Here::Future(core, co) if own == Some(co) => {
                    core.tasks.get(co)?.exit.get().outcome().into()
                }
                _ => None,
            });
            packet.finish(Err(Ended::Otherwise(outcome.unwrap_or(Outcome::Exited))));
        }
    }
}

/// The right to wait for a coroutine's end and to take its result. Dropping it lets the coroutine go
/// on by itself.
///
/// It is a future, too.
#[must_use = "dropping a handle lets the coroutine go on by itself; that is what `drop` says"]
pub struct JoinHandle<T> {
    packet: Arc<Packet<T>>,
    name: Name,
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(packet: Arc<Packet<T>>, name: Name) -> JoinHandle<T> {
        JoinHandle { packet, name }
    }

    /// Which coroutine; `None` while no core of a [`crate::System`] has it yet.
    pub fn co(&self) -> Option<Co> {
        Co::from_bits(self.packet.co.load(SeqCst))
    }

    /// Gives it its permit; see [`wait::unpark`].
    pub fn unpark(&self) {
        self.packet.unparked.store(true, SeqCst);
        if let Some(co) = self.co() {
            wait::unpark(co);
        }
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        world::plain_point();
        lock(&self.packet.inner).is_done
    }

    /// The result, if it has ended; once. For those who wait for several things, with
    /// [`Self::add_waiter`] before each look.
    pub fn try_join(&self) -> Option<Result<T, JoinError>> {
        world::plain_point();
        self.look(None)
    }

    /// Has `waiter` woken at the end, unless it has ended by now.
    pub fn add_waiter(&self, waiter: &Waiter) {
        self.demand();
        self.packet.add_waiter(waiter.clone());
    }

    /// Lets it start, if it waits for someone to want its end.
    fn demand(&self) {
        if self.packet.is_lazy.load(Relaxed) && self.packet.is_lazy.swap(false, SeqCst) {
            self.unpark();
        }
    }

    /// Forgets `waiter`.
    pub fn remove_waiter(&self, waiter: &Waiter) {
        self.withdraw(waiter);
    }

    /// Makes it exit; see [`wait::cancel`].
    pub fn cancel(&self) {
        self.packet.cancelled.store(true, SeqCst);
        if let Some(co) = self.co() {
            wait::cancel(co);
        }
    }

    /// Waits for the end.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future awaits the handle.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, this unwinds its stack.
    ///
    /// # Errors
    /// When the coroutine panicked or exited, or waits for itself.
    ///
    /// # Panics
    /// When it has not ended, and is of a [`LocalSystem`](crate::LocalSystem) of the calling thread that does not
    /// run: the thread would wait for itself.
    #[track_caller]
    pub fn join(self) -> Result<T, JoinError> {
        match self.wait(None) {
            Ok(result) => result,
            Err(_) => unreachable!("there is no limit"),
        }
    }

    /// The same for at most `limit`.
    ///
    /// # Errors
    /// The handle, when the time is over; else as for [`Self::join`].
    #[track_caller]
    pub fn join_timeout(self, limit: Duration) -> Result<Result<T, JoinError>, JoinHandle<T>> {
        self.wait(Some(wait::deadline_in(limit)))
    }

    #[track_caller]
    fn wait(self, deadline: Option<crate::Time>) -> Result<Result<T, JoinError>, JoinHandle<T>> {
        world::plain_point();
        if let Some(result) = self.look(None) {
            return Ok(result);
        }
        if wait::current().is_some_and(|own| self.co() == Some(own)) {
            return Ok(Err(self.error(Why::Itself)));
        }
        let waiter = Waiter::current();
        assert!(
            deadline.is_some() || !self.is_of_idle_system(),
            "a thread joins coroutine {} of a local system of its own, which only this thread can run: first \
             `run` the system, then `join`",
            self.shown()
        );
        loop {
            if let Some(result) = self.look(Some(waiter.clone())) {
                return Ok(result);
            }
            let reason = self.reason();
            let wake = match deadline {
                None => wait::park(reason),
                Some(deadline) => wait::park_until(reason, deadline),
            };
            match wake {
                Wake::Unparked => {}
                Wake::TimedOut => {
                    self.withdraw(&waiter);
                    return Err(self);
                }
                Wake::Exit => {
                    self.withdraw(&waiter);
                    wait::exit();
                    return Ok(Err(self.error(Why::CallerExits)));
                }
            }
        }
    }

    /// Whether the calling code is of the same system.
    fn is_of_same_system(&self) -> bool {
        entered::here(|here| match here {
            Here::Stack(inside) | Here::Virtual(inside) => {
                inside.core.system() == self.packet.system
            }
            Here::Future(core, _) => core.system() == self.packet.system,
            Here::Thread => false,
        })
    }

    /// Whether the calling thread is the only one that could run it, and does not while it waits.
    fn is_of_idle_system(&self) -> bool {
        entered::here(|here| matches!(here, Here::Thread)) && local::is_own(self.packet.system)
    }

    /// Why whoever waits for it parks.
    fn reason(&self) -> Reason {
        if self.is_of_same_system() {
            Reason::Joining(self.co())
        } else {
            Reason::JoiningOutside(self.co())
        }
    }

    /// Takes what it panicked with, if it has.
    pub(crate) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        let mut inner = lock(&self.packet.inner);
        match inner.result.take() {
            Some(Err(Ended::Panicked(payload))) => Some(payload),
            other => {
                inner.result = other;
                None
            }
        }
    }

    /// Takes the result, or leaves the waiter, if there is one.
    fn look(&self, waiter: Option<Waiter>) -> Option<Result<T, JoinError>> {
        let mut inner = lock(&self.packet.inner);
        if inner.is_done {
            let result = inner.result.take();
            drop(inner);
            user::discard(waiter);
            return Some(match result {
                Some(Ok(value)) => Ok(value),
                Some(Err(Ended::Panicked(payload))) => Err(self.error(Why::Panicked(payload))),
                Some(Err(Ended::Otherwise(outcome))) => Err(self.error(Why::Ended(outcome))),
                None => Err(self.error(Why::Taken)),
            });
        }
        let unused = inner.add(waiter?);
        drop(inner);
        user::discard(unused);
        self.demand();
        None
    }

    fn withdraw(&self, waiter: &Waiter) {
        let mut inner = lock(&self.packet.inner);
        let is_own = |other: &mut Waiter| other.is_same(waiter);
        let left: Vec<_> = inner.waiters.extract_if(.., is_own).collect();
        drop(inner);
        user::discard_all(left);
    }

    fn shown(&self) -> String {
        match (self.name.as_str(), self.co()) {
            (Some(name), _) => format!("'{name}'"),
            (None, Some(co)) => co.to_string(),
            (None, None) => "(not started)".to_owned(),
        }
    }

    fn error(&self, why: Why) -> JoinError {
        JoinError { name: self.shown(), why }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waiter = if self.is_of_same_system() {
            Waiter::of(context)
        } else {
            Waiter::Waker(context.waker().clone())
        };
        match self.look(Some(waiter)) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinHandle({})", self.shown())
    }
}

/// A coroutine has left no result.
pub struct JoinError {
    name: String,
    why: Why,
}

enum Why {
    Panicked(Box<dyn Any + Send>),
    Ended(Outcome),
    Taken,
    Itself,
    CallerExits,
}

impl JoinError {
    /// What it panicked with, if it did.
    ///
    /// # Errors
    /// This error, if it did not.
    pub fn into_panic(self) -> Result<Box<dyn Any + Send>, JoinError> {
        match self.why {
            Why::Panicked(payload) => Ok(payload),
            why => Err(JoinError { name: self.name, why }),
        }
    }

    /// How the coroutine ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.why {
            Why::Panicked(_) => Some(Outcome::Panicked),
            Why::Ended(outcome) => Some(outcome),
            Why::Taken | Why::Itself | Why::CallerExits => None,
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.why {
            Why::Panicked(payload) => {
                let text = payload.downcast_ref::<&str>().copied();
                let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
                write!(f, "coroutine {name} panicked: {}", text.unwrap_or("(not a text)"))
            }
            Why::Ended(outcome) => write!(f, "coroutine {name} {outcome} without a result"),
            Why::Taken => write!(f, "the result of coroutine {name} was taken already"),
            Why::Itself => write!(f, "coroutine {name} cannot wait for its own end"),
            Why::CallerExits => {
                write!(f, "cannot wait for coroutine {name}: the calling one's stack unwinds")
            }
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
