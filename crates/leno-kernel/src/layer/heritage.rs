//! A number that whoever spawns passes on.
//!
//! A coroutine inherits it from the one that spawns it, a thread of a world from the one that makes it,
//! a closure on a helper thread from the coroutine that waits for it. Threads made by other means, and
//! everyone to whom nobody gave one, have 0. What a number stands for is its user's concern: the
//! networks of memory in `leno-io` say by it on which host a coroutine runs.
//!
//! It is a number, not a reference: it costs a spawn one load and one branch while nobody uses any,
//! needs no room that was not there, and keeps nothing alive.
//!
//! A coroutine with a stack has its number where its name is. A plain thread, and a future while it is
//! polled, have what [`with`] gives them for as long as that runs, kept by thread under the coroutine's
//! name; else a future has what it has inherited.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::Co;
use crate::core::Core;
use crate::raw::entered::{self, Here};

/// Whether anyone has ever been given a number.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whose number it is, and which: of the thread itself, or of a future that it polls.
    static GIVEN: Cell<(Option<Co>, u32)> = const { Cell::new((None, 0)) };
}

/// The calling code's number.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, spawn_local};
/// use leno_kernel::layer::heritage;
///
/// let system = LocalSystem::new();
/// let inherits = || spawn_local(heritage::current).join().unwrap();
/// let inside = heritage::with(7, || system.spawn(inherits));
/// let outside = system.spawn(inherits);
/// system.run()?;
/// assert_eq!((inside.join()?, outside.join()?), (7, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn current() -> u32 {
    if IS_USED.load(Relaxed) { find() } else { 0 }
}

#[cold]
fn find() -> u32 {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => inside.task.about.borrow().heritage,
        Here::Future(core, co) => match GIVEN.get() {
            (Some(owner), given) if owner == co => given,
            _ => inherited(core, co),
        },
        Here::Thread => match GIVEN.get() {
            (None, given) => given,
            (Some(_), _) => 0,
        },
    })
}

fn inherited(core: &Core, co: Co) -> u32 {
    if let Some(task) = core.tasks.get(co) {
        return task.about.borrow().heritage;
    }
    let team = core.membership.team();
    team.and_then(|team| team.movables.get(co)).map_or(0, |movable| movable.about.heritage)
}

/// Calls `f` with another number: what is spawned meanwhile inherits it.
///
/// A generator must not be suspended inside: the number belongs to whoever runs it.
pub fn with<R>(number: u32, f: impl FnOnce() -> R) -> R {
    struct Restore(Before);
    impl Drop for Restore {
        fn drop(&mut self) {
            self.0.restore();
        }
    }
    if number != 0 {
        IS_USED.store(true, Relaxed);
    }
    let _restore = Restore(give(number));
    f()
}

/// What it was before.
enum Before {
    Coroutine(u32),
    Given(Option<Co>, u32),
}

fn give(number: u32) -> Before {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => {
            let mut about = inside.task.about.borrow_mut();
            Before::Coroutine(core::mem::replace(&mut about.heritage, number))
        }
        Here::Future(_, co) => given(GIVEN.replace((Some(co), number))),
        Here::Thread => given(GIVEN.replace((None, number))),
    })
}

fn given((owner, number): (Option<Co>, u32)) -> Before {
    Before::Given(owner, number)
}

impl Before {
    fn restore(&self) {
        match *self {
            Before::Coroutine(number) => drop(give(number)),
            Before::Given(owner, number) => GIVEN.set((owner, number)),
        }
    }
}
