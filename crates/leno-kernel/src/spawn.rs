//! Spawning: what a coroutine is like, and the bodies that a core runs.

use core::future::poll_fn;
use core::panic::Location;
use core::pin::pin;
use core::task::Poll;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leno_context::{stack, unwind};

use crate::core::{About, Body, Core};
use crate::join::{Ended, Filler, Packet};
use crate::policy::Hint;
use crate::raw::entered::{self, Here};
use crate::raw::stack::with_locals;
use crate::report::Failure;
use crate::{JoinHandle, Name, Outcome, SpawnError, Time};

/// What a coroutine to be spawned is like.
#[derive(Clone, Debug)]
pub struct Options {
    name: Name,
    stack_size: usize,
    priority: i32,
    deadline: Option<Time>,
    hint: Hint,
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

    fn about(&self, core: &Core, site: &'static Location<'static>) -> About {
        About {
            name: self.name.clone(),
            site,
            stack_size: self.stack_size,
            priority: self.priority,
            deadline: self.deadline,
            born: core.roughly_now(),
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
        let filler = Filler::new(packet.clone());
        let body = move || {
            let result = catch_unwind(AssertUnwindSafe(|| with_locals(f)));
            finish(filler, result);
        };
        let body = Body::Closure(Box::new(body));
        let co = self.spawn(options.about(self, site), body, options.hint, packet.clone())?;
        Ok(JoinHandle::new(packet, co, options.name.clone()))
    }

    /// Spawns a future.
    pub(crate) fn spawn_future<T: 'static>(
        &self,
        options: &Options,
        site: &'static Location<'static>,
        future: impl Future<Output = T> + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        let packet = Packet::new();
        let filler = Filler::new(packet.clone());
        let body = async move {
            let mut future = pin!(future);
            let result = poll_fn(|context| {
                match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
                    Ok(Poll::Pending) => Poll::Pending,
                    Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
                    Err(payload) => Poll::Ready(Err(payload)),
                }
            });
            finish(filler, result.await);
        };
        let body = Body::Future(Box::pin(body));
        let co = self.spawn(options.about(self, site), body, options.hint, packet.clone())?;
        Ok(JoinHandle::new(packet, co, options.name.clone()))
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

fn with_core_here<R>(f: impl FnOnce(&Core) -> Result<R, SpawnError>) -> Result<R, SpawnError> {
    entered::here(|here| match here {
        Here::Stack(inside) => f(inside.core),
        Here::Future(core, _) => f(core),
        Here::Thread => Err(SpawnError::NoSystem),
    })
}
