//! What those who build on the kernel ask about the calling code.

use core::any::Any;
use core::task::Context;
use std::rc::Rc;

use crate::raw::entered::{self, Here, Visit};
use crate::{Co, Name, Object, Waiter, world};

/// Whether the core that runs the calling code has a policy of its own, so that [`choose`] may give
/// something other than the first: without one, nobody need collect candidates.
///
/// [`choose`]: crate::layer::choose
#[inline]
pub fn has_policy() -> bool {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => inside.core.has_policy(),
        Here::Future(core, _) => core.has_policy(),
        Here::Thread => false,
    })
}

/// Names the system that runs the calling code, if a core does; see
/// [`LocalSystem::object`](crate::LocalSystem::object).
pub fn current_system() -> Option<Object> {
    entered::here(|here| match here {
        Here::Stack(inside) => Some(inside.core.system()),
        Here::Future(core, _) => Some(core.system()),
        Here::Thread | Here::Virtual(_) => None,
    })
}

/// Numbers the thread that runs the calling code; no two threads of a process have the same, nor those that a
/// [`world`] plays. Unlike [`std::thread::current`], code of a coroutine counts as its core's thread also where a
/// tool gives each coroutine a thread.
#[inline]
pub fn thread_number() -> u32 {
    world::thread_number().unwrap_or_else(|| leno_context::thread::current().number())
}

/// Whether the thread that runs the calling code has this [number](thread_number), for those in a hurry: one of a
/// thread of the machine is also right in a world that it runs.
#[inline(always)]
pub fn has_thread_number(number: u32) -> bool {
    leno_context::thread::current().number() == number || world::has_thread_number(number)
}

/// What a layer above keeps with the system that runs the calling code; see
/// [`LocalSystem::lodge`](crate::LocalSystem::lodge).
///
/// # Examples
/// ```
/// use leno_kernel::LocalSystem;
/// use leno_kernel::layer::lodger;
/// use std::rc::Rc;
///
/// let system = LocalSystem::new();
/// system.lodge(Some(Rc::new(7)));
/// let seven = system.spawn(|| lodger()?.downcast::<i32>().ok());
/// system.run()?;
/// assert_eq!(seven.join()?, Some(Rc::new(7)));
/// assert!(lodger().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lodger() -> Option<Rc<dyn Any>> {
    entered::here(|here| match here {
        Here::Stack(inside) => inside.core.membership.extension(),
        Here::Future(core, _) => core.membership.extension(),
        Here::Thread | Here::Virtual(_) => None,
    })
}

/// The coroutine that runs the calling code, if it has a stack, and so can park. What
/// [`Waiter::current`] says of it, for those in a hurry.
#[inline(always)]
pub fn current_stack() -> Option<Co> {
    entered::visit(Stack)
}

/// The same if the calling code is on that coroutine's own stack, and not on that of another one which it
/// has resumed: so it is on its core's thread for as long as it runs.
pub fn current_on_own_stack() -> Option<Co> {
    entered::here(|here| match here {
        Here::Stack(inside) if inside.is_own_stack() => Some(inside.co),
        _ => None,
    })
}

struct Stack;

impl Visit for Stack {
    type Output = Option<Co>;

    #[inline(always)]
    fn visit(self, here: Here<'_>) -> Option<Co> {
        match here {
            Here::Stack(inside) => Some(inside.co),
            Here::Thread | Here::Virtual(_) | Here::Future(..) => None,
        }
    }
}

/// Whether the calling code may wait: not a coroutine whose own stack unwinds, nor a future.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, can_park};
///
/// struct Asks;
/// impl Drop for Asks {
///     fn drop(&mut self) {
///         assert!(!can_park());
///     }
/// }
///
/// let system = LocalSystem::new();
/// let exits = system.spawn(|| {
///     let _asks = Asks;
///     assert!(can_park());
///     leno_kernel::cancel(leno_kernel::current().expect("a coroutine"));
///     leno_kernel::yield_now();
/// });
/// system.run()?;
/// assert!(exits.join().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn can_park() -> bool {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => inside.can_leave(),
        Here::Thread => true,
        Here::Future(..) => false,
    })
}

/// Who runs the calling code, and what it is called: a coroutine, also where that finds itself on a
/// plain thread of a [`world`](crate::world). `None` on a thread of the machine, whose name
/// [`std::thread`] knows.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Options};
/// use leno_kernel::layer::who;
///
/// assert!(who().is_none());
/// let system = LocalSystem::new();
/// let named = system.spawn_with(&Options::new().name("anna"), || who())?;
/// system.run()?;
/// assert_eq!(named.join()?.unwrap().1.as_str(), Some("anna"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn who() -> Option<(Co, Name)> {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => {
            Some((inside.co, inside.core.name_of(inside.co)))
        }
        Here::Future(core, co) => Some((co, core.name_of(co))),
        Here::Thread => None,
    })
}

impl Waiter {
    /// Whoever is to be woken for a future that is being polled: the coroutine, if its core polls it
    /// directly, so that waking costs little and nobody keeps a waker; else the context's waker.
    ///
    /// For things that only the coroutine's own core knows. While a coroutine waits for others, some
    /// waker must be held, or its core believes that nobody will wake it.
    pub fn of(context: &Context<'_>) -> Waiter {
        let co = entered::here(|here| {
            let (core, co) = match here {
                Here::Stack(inside) | Here::Virtual(inside) => (inside.core, inside.co),
                Here::Future(core, co) => (core, co),
                Here::Thread => return None,
            };
            core.waker_of(co)?.will_wake(context.waker()).then_some(co)
        });
        co.map_or_else(|| Waiter::Waker(context.waker().clone()), Waiter::Co)
    }
}
