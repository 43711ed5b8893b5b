//! Spawning: what a coroutine is like, and the bodies that a core runs.

use core::future::poll_fn;
use core::panic::Location;
use core::pin::pin;
use core::task::Poll;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use leno_context::{stack, unwind};

use crate::core::{About, Body, Core, Membership};
use crate::join::{Adoption, Ended, Filler, Packet};
use crate::policy::Hint;
use crate::raw::entered::{self, Here};
use crate::raw::stack::with_locals;
use crate::report::Failure;
use crate::system::{SendBody, Team, Work};
use crate::{JoinHandle, Name, Outcome, SpawnError, Time};

/// What a coroutine to be spawned is like.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) name: Name,
    stack_size: usize,
    priority: i32,
    deadline: Option<Time>,
    pub(crate) hint: Hint,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: Name::NONE,
            stack_size: stack::DEFAULT_SIZE,
            priority: 0,
            deadline: None,
            hint: Hint::Back,
        }
    }
}

impl Options {
    /// No name, a stack of 64 KiB, priority 0, no deadline, after all others.
    pub fn new() -> Options {
        Options::default()
    }

    /// The name that messages, dumps and traces show.
    pub fn name(mut self, name: impl Into<Name>) -> Options {
        self.name = name.into();
        self
    }

    /// Bytes of stack: a hint, as in [`leno_coroutine::Builder::stack_size`].
    pub fn stack_size(mut self, bytes: usize) -> Options {
        self.stack_size = bytes;
        self
    }

    /// More is more urgent, to policies that care.
    pub fn priority(mut self, priority: i32) -> Options {
        self.priority = priority;
        self
    }

    /// When its work should be done, to policies that care.
    pub fn deadline(mut self, deadline: Time) -> Options {
        self.deadline = Some(deadline);
        self
    }

    /// Where it should be in the queue, to policies that care.
    pub fn hint(mut self, hint: Hint) -> Options {
        self.hint = hint;
        self
    }

    pub(crate) fn about(&self, born: Time, site: &'static Location<'static>) -> About {
        About {
            name: self.name.clone(),
            site,
            stack_size: self.stack_size,
            priority: self.priority,
            deadline: self.deadline,
            born,
        }
    }
}

impl Core {
    /// Spawns a closure, which gets a stack when it first runs.
    pub(crate) fn spawn_closure<T: 'static>(
        &self,
        options: &Options,
        site: &'static Location<'static>,
        f: impl FnOnce() -> T + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        let packet = Packet::new();
        let body = Body::Closure(Box::new(closure_body(Filler::new(packet.clone()), f)));
        let about = options.about(self.roughly_now(), site);
        self.spawn(about, body, options.hint, packet.clone())?;
        Ok(JoinHandle::new(packet, options.name.clone()))
    }

    /// Spawns a future.
    pub(crate) fn spawn_future<T: 'static>(
        &self,
        options: &Options,
        site: &'static Location<'static>,
        future: impl Future<Output = T> + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        let packet = Packet::new();
        let body = Body::Future(Box::pin(future_body(Filler::new(packet.clone()), future)));
        let about = options.about(self.roughly_now(), site);
        self.spawn(about, body, options.hint, packet.clone())?;
        Ok(JoinHandle::new(packet, options.name.clone()))
    }
}

/// What a core runs for a closure.
pub(crate) fn closure_body<T>(filler: Filler<T>, f: impl FnOnce() -> T) -> impl FnOnce() {
    move || {
        let result = catch_unwind(AssertUnwindSafe(|| with_locals(f)));
        finish(filler, result);
    }
}

/// What a core polls for a future.
pub(crate) async fn future_body<T>(filler: Filler<T>, future: impl Future<Output = T>) {
    let mut future = pin!(future);
    let result =
        poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(payload) => Poll::Ready(Err(payload)),
        });
    finish(filler, result.await);
}

impl Team {
    /// Spawns a closure, from the core at `place` or from outside.
    pub(crate) fn spawn_closure<T: Send + 'static>(
        &self,
        place: Option<usize>,
        options: &Options,
        site: &'static Location<'static>,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let packet = Packet::new();
        let body = SendBody::Closure(Box::new(closure_body(Filler::new(packet.clone()), f)));
        self.add_work(place, options, site, body, packet.clone());
        JoinHandle::new(packet, options.name.clone())
    }

    /// Spawns a future, from the core at `place` or from outside.
    pub(crate) fn spawn_future<T: Send + 'static>(
        &self,
        place: Option<usize>,
        options: &Options,
        site: &'static Location<'static>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let packet = Packet::new();
        let body = SendBody::Future(Box::pin(future_body(Filler::new(packet.clone()), future)));
        self.add_work(place, options, site, body, packet.clone());
        JoinHandle::new(packet, options.name.clone())
    }

    fn add_work(
        &self,
        place: Option<usize>,
        options: &Options,
        site: &'static Location<'static>,
        body: SendBody,
        adoption: Arc<dyn Adoption + Send + Sync>,
    ) {
        let about = options.about(Time::START, site);
        self.add(place, Work { about, hint: options.hint, body, adoption });
    }
}

/// The end of every body: tells the core and whoever waits how it ended.
fn finish<T>(filler: Filler<T>, result: std::thread::Result<T>) {
    entered::here(|here| {
        let (core, co) = match &here {
            Here::Stack(inside) => (inside.core, inside.co),
            Here::Future(core, co) => (*core, *co),
            Here::Thread => unreachable!("a core runs it"),
        };
        let task = core.tasks.get(co).expect("it runs");
        let (outcome, result) = match result {
            Ok(value) => (Outcome::Returned, Ok(value)),
            Err(payload) if unwind::is_exit(&*payload) => {
                let outcome = task.exit.get().outcome();
                (outcome, Err(Ended::Otherwise(outcome)))
            }
            Err(payload) => (Outcome::Panicked, Err(Ended::Panicked(payload))),
        };
        core.outcome.set(Some(outcome));
        if let Some(payload) = filler.finish(result) {
            let name = task.about.borrow().name.clone();
            core.failures.borrow_mut().push(Failure { co, name, payload });
        }
    });
}

/// Spawns a closure into the system that runs the calling code. It stays on this core.
///
/// # Panics
/// When no system runs the calling code; see [`try_spawn_local`].
#[track_caller]
pub fn spawn_local<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    match try_spawn_local(&Options::new(), f) {
        Ok(handle) => handle,
        Err(error) => panic!("{error}"),
    }
}

/// The same, with options.
///
/// # Errors
/// When no system runs the calling code, or the core holds no more coroutines.
#[track_caller]
pub fn try_spawn_local<T: 'static>(
    options: &Options,
    f: impl FnOnce() -> T + 'static,
) -> Result<JoinHandle<T>, SpawnError> {
    let site = Location::caller();
    with_core_here(|core| core.spawn_closure(options, site, f))
}

/// Spawns a future into the system that runs the calling code. It stays on this core.
///
/// # Panics
/// When no system runs the calling code.
#[track_caller]
pub fn spawn_local_future<T: 'static>(future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
    let site = Location::caller();
    match with_core_here(|core| core.spawn_future(&Options::new(), site, future)) {
        Ok(handle) => handle,
        Err(error) => panic!("{error}"),
    }
}

/// Spawns a closure into the system that runs the calling code. Any core of it may start it; once
/// started it stays there.
///
/// # Panics
/// When no system runs the calling code; see [`try_spawn`].
#[track_caller]
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match try_spawn(&Options::new(), f) {
        Ok(handle) => handle,
        Err(error) => panic!("{error}"),
    }
}

/// The same, with options.
///
/// # Errors
/// When no system runs the calling code, or a core holds no more coroutines.
#[track_caller]
pub fn try_spawn<T: Send + 'static>(
    options: &Options,
    f: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, SpawnError> {
    let site = Location::caller();
    with_core_here(|core| match &core.team {
        Some(Membership { team, place }) => Ok(team.spawn_closure(Some(*place), options, site, f)),
        None => core.spawn_closure(options, site, f),
    })
}

/// Spawns a future into the system that runs the calling code. Any core of it may poll it first;
/// then it stays there.
///
/// # Panics
/// When no system runs the calling code.
#[track_caller]
pub fn spawn_future<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let (site, options) = (Location::caller(), Options::new());
    let spawned = with_core_here(|core| match &core.team {
        Some(Membership { team, place }) => {
            Ok(team.spawn_future(Some(*place), &options, site, future))
        }
        None => core.spawn_future(&options, site, future),
    });
    match spawned {
        Ok(handle) => handle,
        Err(error) => panic!("{error}"),
    }
}

fn with_core_here<R>(f: impl FnOnce(&Core) -> Result<R, SpawnError>) -> Result<R, SpawnError> {
    entered::here(|here| match here {
        Here::Stack(inside) => f(inside.core),
        Here::Future(core, _) => f(core),
        Here::Thread => Err(SpawnError::NoSystem),
    })
}
