//! Coroutines that borrow from the one that spawns them.
//!
//! Claim: when [`scope`] returns or unwinds, every child has ended and all it owned is dropped, so
//! what children borrow for `'scope` is there as long as they are. Why: a child's [`Guard`] is
//! dropped after everything else it owns, and the scope waits, deaf to its own exit, until all are.
//! A child that cannot be ended ends the process.

use core::cell::{Cell, RefCell};
use core::marker::PhantomData;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use super::closure::Closure;
use super::entered::{self, Here};
use crate::core::{About, Body, Core};
use crate::join::{Adoption, Filler, Packet};
use crate::options::{Options, Start};
use crate::raw::future::FutureBody;
use crate::spawn::closure_body;
use crate::wait::{self, Wake};
use crate::{Co, JoinError, JoinHandle, Object, Reason, SpawnError};

/// Spawns coroutines that may borrow from outside the scope; made by [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    children: Rc<Children>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// What a scope knows of its children.
struct Children {
    owner: Co,
    alive: Cell<usize>,
    spawned: RefCell<Vec<Co>>,
    /// The first panic that nobody has taken.
    failed: Cell<Option<Box<dyn Any + Send>>>,
}

/// The last thing a child owns.
struct Guard(Rc<Children>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.alive.set(self.0.alive.get() - 1);
        if self.0.alive.get() == 0 {
            wait::unpark(self.0.owner);
        }
    }
}

/// Runs `f`, which may spawn coroutines that borrow from the calling one's frame. They run on the
/// same core.
///
/// When `f` returns, their ends are waited for; when it panics, or when the calling coroutine is to
/// exit meanwhile, they are made to exit first.
///
/// # Blocking
/// Parks the calling coroutine until all children have ended.
///
/// # Panics
/// With the panic of `f`, or with the first one of a child that nobody joined. When no coroutine
/// with a stack runs the calling code, or while its stack unwinds. Aborts the process, with a
/// message, when a child cannot be ended.
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
    let owner = entered::here(|here| match here {
        Here::Stack(inside) if inside.can_leave() => Some(inside.co),
        _ => None,
    });
    let Some(owner) = owner else {
        panic!("a scope waits for its children, so it needs a coroutine with a stack that can wait")
    };
    let children = Rc::new(Children {
        owner,
        alive: Cell::new(0),
        spawned: RefCell::default(),
        failed: Cell::new(None),
    });
    let scope = Scope { children: children.clone(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if result.is_err() {
        children.cancel();
    }
    let is_to_exit = children.wait();
    children.collect();
    match (result, children.failed.take()) {
        (Err(payload), _) => resume_unwind(payload),
        (Ok(_), Some(payload)) => resume_unwind(payload),
        (Ok(result), None) => {
            if is_to_exit {
                wait::exit();
            }
            result
        }
    }
}

impl Children {
    /// A child has panicked, and nobody waits for it.
    fn failed(&self, payload: Box<dyn Any + Send>) {
        let first = self.failed.take().unwrap_or(payload);
        self.failed.set(Some(first));
    }

    /// Takes the panics of children that the core has kept, because nobody waited for them.
    fn collect(&self) {
        let spawned = self.spawned.borrow();
        entered::with_core(self.owner.core(), |core| {
            let mut failures = core.failures.borrow_mut();
            for failure in failures.extract_if(.., |failure| spawned.contains(&failure.co)) {
                self.failed(failure.payload);
            }
        });
    }

    /// Forgets those that have ended, once they are most: a server's scope has children for ever.
    fn forget_ended(&self) {
        if self.spawned.borrow().len() < 2 * self.alive.get() + 64 {
            return;
        }
        self.collect();
        entered::with_core(self.owner.core(), |core| {
            self.spawned.borrow_mut().retain(|co| core.tasks.get(*co).is_some());
        });
    }

    fn cancel(&self) {
        for co in self.spawned.borrow().iter() {
            wait::cancel(*co);
        }
    }

    /// Waits until all have ended, whatever else happens. Whether the owner is to exit.
    fn wait(&self) -> bool {
        let mut is_to_exit = false;
        while self.alive.get() > 0 {
            let wake = if is_to_exit {
                wait::park_deaf(Reason::Children)
            } else {
                wait::park(Reason::Children)
            };
            if wake == Wake::Exit {
                is_to_exit = true;
                self.cancel();
            }
        }
        is_to_exit
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
        let guarded = Guarded { inner, _guard: guard };
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
            Box::pin(Guarded { inner: Box::pin(inner), _guard: guard });
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
        let system = entered::with_core(self.children.owner.core(), Core::system);
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
        let co = entered::with_core(self.children.owner.core(), |core| {
            let about: About = options.about(core.roughly_now(), site);
            core.spawn(about, body, options.launch(true).borrowing(), adoption)
        });
        let co = co.unwrap_or(Err(SpawnError::NoSystem))?;
        self.children.forget_ended();
        self.children.spawned.borrow_mut().push(co);
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
    _guard: Guard,
}

impl<F: FnOnce()> Guarded<F> {
    fn run(self) {
        (self.inner)();
    }
}

impl<F: Future<Output = ()> + ?Sized> Future for Guarded<Pin<Box<F>>> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.inner.as_mut().poll(context)
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
        if let Some(payload) = self.handle.take().and_then(|handle| handle.take_panic()) {
            self.children.failed(payload);
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
