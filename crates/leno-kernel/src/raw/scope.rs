//! Coroutines that borrow from the one that spawns them.
//!
//! Claim: when [`scope`] returns or unwinds, every child has ended and all it owned is dropped, so
//! what children borrow for `'scope` is there as long as they are. Why:
//! - A child's [`Guard`] is dropped after everything else that it owns. A result that nobody can take any
//!   more counts as that: the child drops it, not its core later.
//! - The scope waits, deaf to its own exit, until all guards are dropped. It catches what is raised
//!   meanwhile, by whomever. Where the calling code cannot park, because its stack unwinds, or because a
//!   generator around the scope is resumed or dropped elsewhere, it runs the children itself, on top.
//! - What unwinds from the wait all the same, and a child that cannot be ended, end the process.

use core::cell::Cell;
use core::marker::PhantomData;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::rc::Rc;
use std::sync::Arc;

use leno_context::unwind;

use super::closure::Closure;
use super::entered::{self, Here};
use crate::core::{About, Body, Core, StateCell, Stop};
use crate::join::{Adoption, Filler, Packet};
use crate::options::{Options, Start};
use crate::policy::Hint;
use crate::raw::future::FutureBody;
use crate::spawn::closure_body;
use crate::user::{self, Panic};
use crate::wait::{self, Wake};
use crate::{Co, JoinError, JoinHandle, Object, Reason, SpawnError, State};

/// Spawns coroutines that may borrow from outside the scope; made by [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    children: Rc<Children>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// What a scope knows of its children.
struct Children {
    /// The number of the core on which they run.
    core: u32,
    /// The coroutine that waits for them: first the one that has called [`scope`], then the one in which the
    /// scope finds itself, if a generator around it has wandered.
    waits: Cell<Co>,
    alive: Cell<usize>,
    spawned: StateCell<Vec<Co>>,
    /// Those that start when someone first waits for them, as the scope does at its end.
    lazy: StateCell<Vec<Co>>,
    /// Whether the scope waits for its children: then those that are lazy start as soon as they are spawned.
    is_waiting: Cell<bool>,
    /// The first panic that nobody has taken.
    failed: Cell<Option<Panic>>,
}

/// The last thing a child owns.
struct Guard(Rc<Children>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.alive.set(self.0.alive.get() - 1);
        if self.0.alive.get() == 0 {
            wait::unpark_quietly(self.0.waits.get(), Hint::Back);
        }
    }
}

/// Runs `f`, which may spawn coroutines that borrow from the calling one's frame. They run on the
/// same core.
///
/// When `f` returns, their ends are waited for, which starts those that are [`Start::Lazy`], at once if they are spawned while
/// it waits; one that is [`Start::Idle`] has to be unparked by someone. When `f` panics, or when the calling coroutine is to
/// exit meanwhile, they are made to exit first.
///
/// # Blocking
/// Parks the calling coroutine until all children have ended.
///
/// # Panics
/// With the panic of `f`, or with the first one of a child that nobody joined. When no coroutine
/// with a stack runs the calling code, or while its stack unwinds. Aborts the process, with a
/// message, when a child cannot be ended: a child in which its own scope ends, because it resumes or drops the
/// generator around that, or one whose scope is in a generator that ends or is dropped where the scope's system does not run.
/// Children that wait for each other in that way, each in a scope of its own, do so until their system is dropped.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, scope};
///
/// let system = LocalSystem::new();
/// let sum = system.spawn(|| {
///     let numbers = [1, 2, 3, 4];
///     scope(|s| {
///         let halves = numbers.chunks(2).map(|half| s.spawn(move || half.iter().sum::<i32>()));
///         halves.collect::<Vec<_>>().into_iter().map(|half| half.join().unwrap()).sum::<i32>()
///     })
/// });
/// system.run()?;
/// assert_eq!(sum.join()?, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let waits = entered::here(|here| match here {
        Here::Stack(inside) if inside.can_leave() => Some(inside.co),
        _ => None,
    });
    let Some(waits) = waits else {
        panic!("a scope waits for its children, so it needs a coroutine with a stack that can wait")
    };
    let children = Rc::new(Children {
        core: waits.core(),
        waits: Cell::new(waits),
        alive: Cell::new(0),
        spawned: StateCell::default(),
        lazy: StateCell::default(),
        is_waiting: Cell::new(false),
        failed: Cell::new(None),
    });
    let scope = Scope { children: children.clone(), scope: PhantomData, env: PhantomData };
    let result = user::call(|| f(&scope));
    let waited = children.wait(result.is_err());
    children.collect();
    match (result, user::first(waited.raised, children.failed.take())) {
        (Err(panic), _) => panic.resume(),
        (Ok(result), Some(panic)) => {
            user::dispose(result);
            panic.resume()
        }
        (Ok(result), None) => {
            if waited.is_to_exit {
                wait::exit();
            }
            result
        }
    }
}

/// What has happened while a scope waited.
#[derive(Default)]
struct Waited {
    /// The calling coroutine is to exit.
    is_to_exit: bool,
    /// What was raised where the scope waited.
    raised: Option<Panic>,
}

/// Ends the process if the wait unwinds: children may be alive.
struct Unwinds;

impl Drop for Unwinds {
    fn drop(&mut self) {
        unwind::give_up("a scope of the kernel unwound before its children had ended");
    }
}

impl Children {
    /// A child has panicked, and nobody waits for it.
    fn failed(&self, panic: Panic) {
        let first = self.failed.take();
        self.failed.set(user::first(first, Some(panic)));
    }

    /// Takes the panics of children that the core has kept, because nobody waited for them.
    fn collect(&self) {
        let spawned = self.spawned.borrow().clone();
        let failures =
            entered::with_core(self.core, |core| core.endings.take_failures_of(&spawned));
        for failure in failures.into_iter().flatten() {
            self.failed(failure.payload);
        }
    }

    /// Forgets those that have ended, once they are most: a server's scope has children for ever.
    fn forget_ended(&self) {
        if self.spawned.borrow().len() < 2 * self.alive.get() + 64 {
            return;
        }
        self.collect();
        entered::with_core(self.core, |core| {
            self.spawned.borrow_mut().retain(|co| core.tasks.get(*co).is_some());
        });
    }

    fn cancel(&self) {
        let spawned = self.spawned.borrow().clone();
        spawned.into_iter().for_each(wait::cancel);
    }

    /// Starts those that nobody has waited for yet.
    fn start_lazy(&self) {
        let lazy = core::mem::take(&mut *self.lazy.borrow_mut());
        let is_new = |co: &Co| {
            let state = |core: &Core| core.tasks.get(*co).map(|task| task.state());
            entered::with_core(self.core, state).flatten() == Some(State::New)
        };
        lazy.into_iter().filter(is_new).for_each(wait::unpark);
    }

    /// Waits until all have ended, whatever else happens; makes them exit first if it `is_to_cancel`.
    fn wait(&self, mut is_to_cancel: bool) -> Waited {
        let unwinds = Unwinds;
        let mut waited = Waited::default();
        self.is_waiting.set(true);
        while self.alive.get() > 0 {
            let step = user::call(|| {
                if core::mem::take(&mut is_to_cancel) {
                    self.cancel();
                }
                self.start_lazy();
                self.wait_once(waited.is_to_exit || waited.raised.is_some())
            });
            match step {
                Ok(Wake::Exit) if !waited.is_to_exit => {
                    (waited.is_to_exit, is_to_cancel) = (true, true);
                }
                Ok(_) => {}
                Err(panic) if leno_context::is_planted("scope-leaves-early") => {
                    core::mem::forget(unwinds);
                    panic.resume();
                }
                Err(panic) => {
                    waited.raised = user::first(waited.raised.take(), Some(panic));
                    is_to_cancel = true;
                }
            }
        }
        core::mem::forget(unwinds);
        waited
    }

    /// Lets the children run; `is_deaf` if the calling coroutine knows already that it is to exit.
    fn wait_once(&self, is_deaf: bool) -> Wake {
        let own = entered::here(|here| match here {
            Here::Stack(inside) if inside.core.number() == self.core => {
                inside.can_leave().then_some(inside.co)
            }
            _ => None,
        });
        let Some(own) = own else {
            if leno_context::is_planted("scope-owner-spins") {
                return Wake::Unparked;
            }
            if entered::with_core(self.core, |core| self.run(core)).is_none() {
                unwind::give_up(
                    "a scope of the kernel ends outside of its system, which does not run, while \
                     children of it are alive: resume or drop the coroutine around a scope inside its \
                     system",
                );
            }
            return Wake::Unparked;
        };
        // Only a generator around the scope brings it to another coroutine.
        if self.waits.replace(own) != own && self.spawned.borrow().contains(&own) {
            unwind::give_up(
                "children of a scope of the kernel cannot be ended: one of them resumes or drops the generator \
                 around the scope, which ends there, and so waits for itself",
            );
        }
        match is_deaf {
            true => wait::park_deaf(Reason::Children),
            false => wait::park(Reason::Children),
        }
    }

    /// Runs the children on top of the calling code, which cannot park; where none of them is ready, whoever
    /// else is on their core. If nobody is, they are made to exit.
    #[cold]
    fn run(&self, core: &Core) {
        let is_ready =
            |co: &Co| core.tasks.get(*co).is_some_and(|task| task.state() == State::Ready);
        let mut are_cancelled = false;
        while self.alive.get() > 0 {
            let spawned = self.spawned.borrow().clone();
            let mut ready = spawned.iter().copied().filter(is_ready).peekable();
            if ready.peek().is_some() {
                ready.for_each(|co| {
                    let _ = core.attach(co);
                });
                continue;
            }
            let any = spawned.first().copied().unwrap_or(self.waits.get());
            let stop = core.run_on_top(any, |_| {
                self.alive.get() == 0 || self.spawned.borrow().iter().any(is_ready)
            });
            if stop == Stop::Quiescent && self.alive.get() > 0 {
                if !core::mem::replace(&mut are_cancelled, true) {
                    self.cancel();
                    continue;
                }
                unwind::give_up(
                    "children of a scope of the kernel cannot be ended: the calling code cannot park, and \
                     they wait for what nobody can do meanwhile",
                );
            }
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Spawns a closure that may borrow for `'scope`, with a stack of its own.
    ///
    /// # Panics
    /// When the core holds no more coroutines.
    #[track_caller]
    pub fn spawn<T: 'scope>(
        &'scope self,
        f: impl FnOnce() -> T + 'scope,
    ) -> ScopedHandle<'scope, T> {
        match self.spawn_with(&Options::new(), f) {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same, with options.
    ///
    /// # Errors
    /// When the core holds no more coroutines.
    #[track_caller]
    pub fn spawn_with<T: 'scope>(
        &'scope self,
        options: &Options,
        f: impl FnOnce() -> T + 'scope,
    ) -> Result<ScopedHandle<'scope, T>, SpawnError> {
        let packet = self.packet(options.start);
        let guard = self.guard();
        let inner = closure_body(Filler::new(packet.clone()), f);
        let guarded = Guarded { inner, guard };
        let body: Closure<'scope> = Closure::new(move || guarded.run());
        // SAFETY: only the lifetime changes; it has ended before `'scope` does (see the module).
        let body = unsafe { core::mem::transmute::<Closure<'scope>, Closure<'static>>(body) };
        self.add(options, Location::caller(), Body::Closure(body), packet)
    }

    /// Spawns a future that may borrow for `'scope`.
    ///
    /// # Panics
    /// When the core holds no more coroutines.
    #[track_caller]
    pub fn spawn_future<T: 'scope>(
        &'scope self,
        future: impl Future<Output = T> + 'scope,
    ) -> ScopedHandle<'scope, T> {
        let packet = self.packet(Start::Ready);
        let guard = self.guard();
        let inner = FutureBody::new(Filler::new(packet.clone()), future);
        let body: Pin<Box<dyn Future<Output = ()> + 'scope>> =
            Box::pin(Guarded { inner: Box::pin(inner), guard });
        // SAFETY: only the lifetime changes; it has ended before `'scope` does (see the module).
        let body = unsafe {
            core::mem::transmute::<
                Pin<Box<dyn Future<Output = ()> + 'scope>>,
                Pin<Box<dyn Future<Output = ()> + 'static>>,
            >(body)
        };
        match self.add(&Options::new(), Location::caller(), Body::Future(body), packet) {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    fn packet<T>(&self, start: Start) -> Arc<Packet<T>> {
        let system = entered::with_core(self.children.core, Core::system);
        Packet::new(system.unwrap_or_else(Object::local), start)
    }

    fn guard(&self) -> Guard {
        self.children.alive.set(self.children.alive.get() + 1);
        Guard(self.children.clone())
    }

    fn add<T: 'scope>(
        &self,
        options: &Options,
        site: &'static Location<'static>,
        body: Body,
        packet: Arc<Packet<T>>,
    ) -> Result<ScopedHandle<'scope, T>, SpawnError> {
        let adoption: Arc<dyn Adoption + 'scope> = packet.clone();
        // SAFETY: only the lifetime changes; the core drops it when the child ends.
        let adoption = unsafe {
            core::mem::transmute::<Arc<dyn Adoption + 'scope>, Arc<dyn Adoption + 'static>>(
                adoption,
            )
        };
        let co = entered::with_core(self.children.core, |core| {
            let about: About = options.about(core.roughly_now(), site);
            core.spawn(about, body, options.launch(true).borrowing(), adoption)
        });
        let co = co.unwrap_or(Err(SpawnError::NoSystem))?;
        self.children.forget_ended();
        self.children.spawned.borrow_mut().push(co);
        if options.start == Start::Lazy {
            self.children.lazy.borrow_mut().push(co);
            if self.children.is_waiting.get() {
                self.children.start_lazy();
            }
        }
        let handle = JoinHandle::new(packet, options.name.clone());
        let handle = Some(handle);
        let scoped = ScopedHandle { handle, children: self.children.clone(), scope: PhantomData };
        wait::give_way();
        Ok(scoped)
    }
}

/// A body and its guard, which is dropped last, whether it has run or not: fields go in this order.
struct Guarded<F> {
    inner: F,
    guard: Guard,
}

impl<F: FnOnce()> Guarded<F> {
    fn run(self) {
        let Guarded { inner, guard } = self;
        inner();
        guard.release_result();
    }
}

impl Guard {
    /// Drops the result of the child that ends here, if nobody can take it: it may borrow for `'scope`. Its
    /// destructor is user code, which may do anything but outlive the guard.
    fn release_result(&self) {
        if leno_context::is_planted("scope-result-late") {
            return;
        }
        let (outcome, adoption) = entered::here(|here| {
            let (core, co) = match here {
                Here::Stack(inside) => (inside.core, inside.co),
                Here::Future(core, co) => (core, co),
                Here::Thread | Here::Virtual(_) => return (None, None),
            };
            (core.endings.take(), core.tasks.get(co).and_then(|task| task.take_adoption()))
        });
        let dropped = user::try_dispose(adoption);
        // Others may have run meanwhile, and ended.
        entered::with_core(self.0.core, |core| core.endings.set(outcome));
        if let Err(panic) = dropped {
            self.0.failed(panic);
        }
    }
}

impl<F: Future<Output = ()> + ?Sized> Future for Guarded<Pin<Box<F>>> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let polled = self.inner.as_mut().poll(context);
        if polled.is_ready() {
            self.guard.release_result();
        }
        polled
    }
}

/// The right to wait for a child and to take its result. A panic of a child whose handle is dropped
/// leaves its scope.
pub struct ScopedHandle<'scope, T> {
    handle: Option<JoinHandle<T>>,
    children: Rc<Children>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedHandle<'_, T> {
    /// Which coroutine.
    pub fn co(&self) -> Option<Co> {
        self.handle.as_ref()?.co()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Makes it exit.
    pub fn cancel(&self) {
        if let Some(handle) = &self.handle {
            handle.cancel();
        }
    }

    /// Waits for the end; see [`JoinHandle::join`].
    ///
    /// # Errors
    /// As [`JoinHandle::join`].
    #[track_caller]
    pub fn join(mut self) -> Result<T, JoinError> {
        self.handle.take().expect("there until the end").join()
    }
}

impl<T> Drop for ScopedHandle<'_, T> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        if let Some(payload) = handle.take_panic() {
            self.children.failed(Panic::new(payload));
        }
    }
}

impl<T> core::fmt::Debug for ScopedHandle<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ScopedHandle({:?})", self.handle)
    }
}

impl core::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Scope({} alive)", self.children.alive.get())
    }
}
