//! Spawning: the bodies that a core runs.

use core::any::Any;
use core::panic::Location;
use std::sync::Arc;

use leno_context::{last_words, unwind};
use leno_coroutine::floor;

use crate::co::SLOTS;
use crate::core::{Body, Core, TeamPlace};
use crate::join::{Ended, Filler, Packet};
use crate::options::{Options, Start};
use crate::raw::closure::{Closure, SendClosure};
use crate::raw::entered::{self, Here};
use crate::raw::future::FutureBody;
use crate::raw::stack::with_locals;
use crate::report::Failure;
use crate::system::{Movable, MovableBody, Team, Unstarted, Work};
use crate::user::{self, Panic};
use crate::wait::give_way;
use crate::{Co, JoinHandle, Outcome, Platform, SpawnError, Time, world};

impl Core {
    /// Spawns a closure, which gets a stack when it first runs.
    pub(crate) fn spawn_closure<T: 'static>(
        &self,
        options: &Options,
        site: &'static Location<'static>,
        f: impl FnOnce() -> T + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        let packet = Packet::new(self.system(), options.start);
        let body = Body::Closure(Closure::new(closure_body(Filler::new(packet.clone()), f)));
        let about = options.about(self.roughly_now(), site);
        self.spawn(about, body, options.launch(true), packet.clone())?;
        Ok(JoinHandle::new(packet, options.name.clone()))
    }

    /// Spawns a future.
    pub(crate) fn spawn_future<T: 'static>(
        &self,
        options: &Options,
        site: &'static Location<'static>,
        future: impl Future<Output = T> + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        let packet = Packet::new(self.system(), options.start);
        let body = Body::Future(Box::pin(FutureBody::new(Filler::new(packet.clone()), future)));
        let about = options.about(self.roughly_now(), site);
        self.spawn(about, body, options.launch(true), packet.clone())?;
        Ok(JoinHandle::new(packet, options.name.clone()))
    }
}

/// What a core runs for a closure.
pub(crate) fn closure_body<T>(filler: Filler<T>, f: impl FnOnce() -> T) -> impl FnOnce() {
    move || {
        let result = user::call(|| with_locals(f)).map_err(Panic::into_payload);
        finish(filler, result);
    }
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
        let packet = Packet::new(self.system(), options.start);
        let body = SendClosure::new(closure_body(Filler::new(packet.clone()), f));
        let (about, launch) = (options.about(Time::START, site), options.launch(false));
        self.add(place, Work::Closure(Unstarted { about, launch, body, adoption: packet.clone() }));
        JoinHandle::new(packet, options.name.clone())
    }

    /// Spawns a future, from a core of this team or from outside.
    pub(crate) fn spawn_future<T: Send + 'static>(
        &self,
        from: Option<&Core>,
        options: &Options,
        site: &'static Location<'static>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let packet = Packet::new(self.system(), options.start);
        let future = Box::pin(FutureBody::new(Filler::new(packet.clone()), future));
        let body = MovableBody { future, adoption: packet.clone() };
        let born = from.map_or_else(|| self.clock.now(), Core::roughly_now);
        let (about, launch) = (options.about(born, site), options.launch(from.is_some()));
        let place = from.and_then(|core| core.membership.place().as_ref()).map(|own| own.place);
        let place = self.place_or_next(place);
        let made =
            self.movables.add(place, |co| Movable::new(co, about, launch, from.is_some(), body));
        match made {
            Some(movable) => {
                self.launch(from, place, launch.start, movable);
            }
            // The body is dropped, by which whoever waits for it learns.
            None => {
                let full = SpawnError::Full { limit: SLOTS };
                last_words::say(format_args!("a future was dropped: {full}"));
            }
        }
        JoinHandle::new(packet, options.name.clone())
    }

    /// Begins with a movable future that is made.
    fn launch(&self, from: Option<&Core>, place: usize, start: Start, movable: Arc<Movable>) {
        if let Some(core) = from {
            core.announce(&movable);
        }
        // Either this sees that the team is stopping, or stopping finds the future in the list: both
        // lock its shard, whoever is second sees what the other one did before.
        let is_idle = self.is_stopping() && movable.cancel();
        match (start, from) {
            (Start::Ready, _) => self.add(Some(place), Work::Movable(movable)),
            (Start::Eager, Some(core)) => core.run_new_movable(movable),
            (Start::Eager, None) => self.add_first(Some(place), movable),
            (Start::Idle | Start::Lazy, _) if is_idle => {
                self.add_woken(Some(place), movable, false);
            }
            (Start::Idle | Start::Lazy, _) => {}
        }
    }
}

/// The end of every body: tells the core and whoever waits how it ended.
///
/// Waking those is code of users, which may run anything meanwhile: the core learns how this body has ended
/// after that. An exit that is raised there goes no further, because there is nothing left to unwind.
///
/// A body may be unwound by the exit of a coroutine around its core's loop: a future that hops in a ring in which that
/// loop runs, or a body that suspends a generator around it. The loop goes on unwinding when the body has ended.
pub(crate) fn finish<T>(filler: Filler<T>, result: std::thread::Result<T>) {
    let exit = with_own_task(|core, co| {
        core.tasks.get(co).map_or(Outcome::Exited, |task| task.exit.get().outcome())
    });
    let mut around = None;
    let (outcome, result) = match result {
        Ok(value) => (Outcome::Returned, Ok(value)),
        Err(payload) if is_own_exit(&*payload) => (exit, Err(Ended::Otherwise(exit))),
        Err(payload) if floor::is_exit_here(&*payload) => {
            around = Some(Panic::new(payload));
            (exit, Err(Ended::Otherwise(exit)))
        }
        Err(payload) => (Outcome::Panicked, Err(Ended::Panicked(payload))),
    };
    let finish = || filler.finish(result);
    let finished =
        if leno_context::is_planted("waker-at-end") { Ok(finish()) } else { user::call(finish) };
    let unclaimed = finished.unwrap_or_else(|exit| {
        drop(exit);
        None
    });
    with_own_task(|core, co| {
        core.endings.set(Some(outcome));
        if around.is_some() {
            core.endings.exits(around);
        }
        let Some(payload) = unclaimed else { return };
        let name = core.name_of(co);
        if !core.tasks.get(co).is_some_and(|task| task.borrows.get()) {
            world::saw_panic(format!("coroutine {}", name.or_id(co.bits())), &*payload);
        }
        core.endings.add_failure(Failure { co, name, payload: Panic::new(payload) });
    });
}

/// Whether a payload is the exit of the calling body's coroutine. One without a stack is dropped instead.
fn is_own_exit(payload: &(dyn Any + Send)) -> bool {
    entered::here(|here| match here {
        Here::Stack(inside) => unwind::is_exit_of(payload, inside.id()),
        _ => false,
    })
}

/// Calls `f` with the core that runs the calling body, and which one that is.
fn with_own_task<R>(f: impl FnOnce(&Core, Co) -> R) -> R {
    entered::here(|here| match here {
        Here::Stack(inside) => f(inside.core, inside.co),
        Here::Future(core, co) => f(core, co),
        Here::Thread | Here::Virtual(_) => unreachable!("a core runs it"),
    })
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
    let spawned = with_core_here(|core| core.spawn_closure(options, site, f));
    give_way();
    spawned
}

/// Spawns a future into the system that runs the calling code. It stays on this core.
///
/// # Panics
/// When no system runs the calling code.
#[track_caller]
pub fn spawn_local_future<T: 'static>(future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
    let site = Location::caller();
    let spawned = with_core_here(|core| core.spawn_future(&Options::new(), site, future));
    give_way();
    match spawned {
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
    let spawned = with_core_here(|core| match core.membership.place() {
        Some(TeamPlace { team, place }) if options.start != Start::Eager => {
            Ok(team.spawn_closure(Some(*place), options, site, f))
        }
        _ => core.spawn_closure(options, site, f),
    });
    give_way();
    spawned
}

/// Spawns a future into the system that runs the calling code. Any core of it may poll it, at any
/// time.
///
/// # Panics
/// When no system runs the calling code; see [`try_spawn_future`].
#[track_caller]
pub fn spawn_future<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    match try_spawn_future(&Options::new(), future) {
        Ok(handle) => handle,
        Err(error) => panic!("{error}"),
    }
}

/// The same, with options.
///
/// # Errors
/// When no system runs the calling code, or it holds no more coroutines.
#[track_caller]
pub fn try_spawn_future<T: Send + 'static>(
    options: &Options,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<JoinHandle<T>, SpawnError> {
    let site = Location::caller();
    let spawned = with_core_here(|core| match core.membership.team() {
        Some(team) => Ok(team.spawn_future(Some(core), options, site, future)),
        None => core.spawn_future(options, site, future),
    });
    give_way();
    spawned
}

fn with_core_here<R>(f: impl FnOnce(&Core) -> Result<R, SpawnError>) -> Result<R, SpawnError> {
    world::plain_point();
    entered::here(|here| match here {
        Here::Stack(inside) => f(inside.core),
        Here::Future(core, _) => f(core),
        Here::Thread | Here::Virtual(_) => Err(SpawnError::NoSystem),
    })
}
