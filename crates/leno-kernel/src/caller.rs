//! What those who build on the kernel ask about the calling code.

use core::task::Context;

use crate::Waiter;
use crate::raw::entered::{self, Here};

/// Whether the core that runs the calling code has a policy of its own, so that [`choose`] may give
/// something other than the first: without one, nobody need collect candidates.
///
/// [`choose`]: crate::choose
#[inline]
pub fn has_policy() -> bool {
    entered::here(|here| match here {
        Here::Stack(inside) => inside.core.has_policy(),
        Here::Future(core, _) => core.has_policy(),
        Here::Thread => false,
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
                Here::Stack(inside) => (inside.core, inside.co),
                Here::Future(core, co) => (core, co),
                Here::Thread => return None,
            };
            core.tasks.get(co)?.waker(co).will_wake(context.waker()).then_some(co)
        });
        co.map_or_else(|| Waiter::Waker(context.waker().clone()), Waiter::Co)
    }
}
