//! Calls of user code, for authors of layers: what [`leno_context::user`] has, wakers, and what becomes of a
//! panic that nobody waits for.
//!
//! A [`Waker`] is user code: waking, cloning and dropping it may panic, re-enter the object that calls it, or
//! never return. [`wake`], [`wake_all`] and [`discard`] call it outside of all critical sections and catch
//! what it raises. So an operation that wakes several wakes all of them, and leno's own threads (cores, the
//! clock, helpers, reactors) outlive it.
//!
//! What was caught goes to the failure hook of the system that runs the calling code
//! ([`LocalBuilder::on_failure`](crate::LocalBuilder::on_failure),
//! [`SystemBuilder::on_failure`](crate::SystemBuilder::on_failure)); if that has none, or no system runs the
//! calling code, to the hook of the process ([`on_failure`]). Without any hook it is dropped: the standard
//! library's panic hook has printed its message. In an explored program it fails the run.
//!
//! An exit is no failure. Code that runs on behalf of a coroutine passes it on, after everything else is done.

use core::fmt;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use std::task::Waker;

pub use leno_context::user::*;
use leno_coroutine::floor;
pub use leno_coroutine::floor::first;

use crate::raw::entered::{self, Here, Running};
use crate::{Co, Name, Waiter, world};

/// A panic of user code that nobody waits for; what a failure hook gets.
#[derive(Debug)]
#[non_exhaustive]
pub struct Caught<'a> {
    /// What kind of user code it was, such as "a waker".
    pub what: &'static str,
    /// The coroutine that has called it, and its name; `None` if a thread has.
    pub caller: Option<(Co, Name)>,
    /// What it has raised.
    pub panic: &'a Panic,
}

impl fmt::Display for Caught<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} panicked", self.what)?;
        if let Some((co, name)) = &self.caller {
            write!(f, " in coroutine {}", name.or_id(co.bits()))?;
        }
        write!(f, ": {}", self.panic.message().unwrap_or("(not a text)"))
    }
}

/// How many calls of a hook may go on at a time: one whose own wakers panic does not call itself for ever.
const CALLS: usize = 8;

type Call = dyn Fn(&Caught<'_>) + Send + Sync;

/// A failure hook.
pub(crate) struct Hook {
    /// There until the end.
    call: Option<Box<Call>>,
    calls: AtomicUsize,
}

/// Whoever lets it go last, a core's thread, say, outlives its destructor.
impl Drop for Hook {
    fn drop(&mut self) {
        dispose(self.call.take());
    }
}

impl Hook {
    pub(crate) fn new(hook: impl Fn(&Caught<'_>) + Send + Sync + 'static) -> Arc<Hook> {
        Arc::new(Hook { call: Some(Box::new(hook)), calls: AtomicUsize::new(0) })
    }

    /// Calls it; its own panic goes no further.
    fn tell(&self, caught: &Caught<'_>) {
        if self.calls.fetch_add(1, Relaxed) < CALLS
            && let Some(hook) = &self.call
        {
            drop(call(|| hook(caught)));
        }
        self.calls.fetch_sub(1, Relaxed);
    }
}

/// The failure hook of a system, if it has one.
#[derive(Clone, Default)]
pub(crate) struct SystemHook(pub(crate) Option<Arc<Hook>>);

impl PartialEq for SystemHook {
    fn eq(&self, other: &SystemHook) -> bool {
        let own = self.0.as_ref().map(Arc::as_ptr);
        own == other.0.as_ref().map(Arc::as_ptr)
    }
}

impl Eq for SystemHook {}

impl fmt::Debug for SystemHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "SystemHook(..)" } else { "SystemHook(none)" })
    }
}

static PROCESS: Mutex<Option<Arc<Hook>>> = Mutex::new(None);

/// Sets the failure hook of the process, in place of an earlier one: it gets panics of user code that nobody
/// waits for, where no system with a hook of its own runs the calling code. Its own panics are caught and
/// dropped. It should neither block nor wait.
///
/// # Examples
/// ```
/// use std::sync::mpsc::channel;
/// use std::task::{Wake, Waker};
///
/// struct Bad;
/// impl Wake for Bad {
///     fn wake(self: std::sync::Arc<Self>) {
///         panic!("no");
///     }
/// }
///
/// # std::panic::set_hook(Box::new(|_| {}));
/// let (told, failures) = channel();
/// leno_kernel::layer::user::on_failure(move |caught| drop(told.send(caught.to_string())));
/// leno_kernel::Waiter::Waker(Waker::from(std::sync::Arc::new(Bad))).wake();
/// assert_eq!(failures.recv()?, "a waker panicked: no");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn on_failure(hook: impl Fn(&Caught<'_>) + Send + Sync + 'static) {
    let hook = Hook::new(hook);
    let old = lock(&PROCESS).replace(hook);
    drop(old);
}

/// Whether a panic is the exit of a coroutine around the calling code, which goes on to the base of that one. An exit
/// that was caught elsewhere and raised again is a failure like any other.
pub fn is_exit(panic: &Panic) -> bool {
    floor::is_exit_here(panic.payload())
}

/// Tells the failure hook of a panic that nobody waits for. An exit is given back.
#[must_use = "an exit goes on: see `Panic::resume`"]
pub fn report(what: &'static str, panic: Panic) -> Option<Panic> {
    if is_exit(&panic) {
        return Some(panic);
    }
    drop(tell(what, panic));
    None
}

/// Tells the failure hook, or gives back an exit, and a panic that no hook would hear of. For operations that
/// call user code of others while they wait themselves: they raise what they get back.
///
/// # Errors
/// With the panic, if it is an exit, or if neither the system nor the process has a hook.
pub fn try_report(what: &'static str, panic: Panic) -> Result<(), Panic> {
    if is_exit(&panic) { Err(panic) } else { tell(what, panic) }
}

/// Tells the hook and the explored program, or gives the panic back if there is neither.
fn tell(what: &'static str, panic: Panic) -> Result<(), Panic> {
    let (hook, caller) = hook_here();
    world::saw_panic(what.to_owned(), panic.payload());
    match hook {
        Some(hook) => hook.tell(&Caught { what, caller, panic: &panic }),
        None if world::is_here() => {}
        None => return Err(panic),
    }
    Ok(())
}

/// Tells the failure hook of a panic that nobody waits for; an exit goes on.
pub fn failed(what: &'static str, panic: Panic) {
    pass_on(report(what, panic));
}

/// Whom to tell, and who runs the calling code.
fn hook_here() -> (Option<Arc<Hook>>, Option<(Co, Name)>) {
    let (hook, caller) = entered::here(|here| {
        let (core, co) = match here {
            Here::Stack(inside) => (inside.core, inside.co),
            Here::Future(core, co) => (core, co),
            Here::Thread | Here::Virtual(_) => return (hook_of_loop(), None),
        };
        (core.observation.window().title.on_failure.0.clone(), Some((co, core.name_of(co))))
    });
    let hook = hook.or_else(|| lock(&PROCESS).as_ref().cloned());
    (hook, caller)
}

/// The hook of the system whose core's loop runs the calling code, if one does.
fn hook_of_loop() -> Option<Arc<Hook>> {
    let mut found = None;
    entered::each_core(|core| {
        if found.is_none() && core.entry.running.get() == Running::Nobody {
            found = Some(core.observation.window().title.on_failure.0.clone());
        }
    });
    found.flatten()
}

/// Goes on with an exit, unless the calling code unwinds already.
fn pass_on(exit: Option<Panic>) {
    if let Some(exit) = exit
        && !std::thread::panicking()
    {
        exit.resume();
    }
}

/// Wakes; a panic of a waker goes to the failure hook.
#[inline]
pub fn wake(waiter: Waiter) {
    waiter.wake();
}

/// Wakes a future; a panic goes to the failure hook.
#[inline(never)]
pub fn wake_waker(waker: Waker) {
    if let Err(panic) = call(|| waker.wake()) {
        failed("a waker", panic);
    }
}

/// Calls user code in the middle of an operation, which is no place to exit: the operation may have taken something
/// that would be lost. If the calling coroutine exits in there, it does so at its next operation instead.
#[inline]
pub fn without_exit(f: impl FnOnce()) {
    if let Err(panic) = call(f)
        && !is_exit(&panic)
    {
        panic.resume();
    }
}

/// Wakes as if no waker panicked, for planted mistakes: a panic goes on.
#[doc(hidden)]
pub fn wake_unguarded(waiter: Waiter) {
    match waiter {
        Waiter::Waker(waker) => waker.wake(),
        waiter => waiter.wake(),
    }
}

/// Wakes all of them, also when one panics.
pub fn wake_all(waiters: impl IntoIterator<Item = Waiter>) {
    each("a waker", waiters, Waiter::wake);
}

/// Calls user code for all of them, also when one panics, which goes to the failure hook.
pub fn each<T>(what: &'static str, items: impl IntoIterator<Item = T>, mut f: impl FnMut(T)) {
    let mut exit = None;
    for item in items {
        if let Err(panic) = call(|| f(item)) {
            exit = first(exit, report(what, panic));
        }
    }
    pass_on(exit);
}

/// Drops something that belongs to a user, such as a waker that is needed no more; a panic goes to the failure
/// hook.
#[inline(always)]
pub fn discard<T>(value: T) {
    if let Err(panic) = try_dispose(value) {
        failed("a destructor", panic);
    }
}

/// Drops all of them, also when one panics.
pub fn discard_all<T>(values: impl IntoIterator<Item = T>) {
    each("a destructor", values, drop);
}
