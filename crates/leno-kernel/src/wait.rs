//! Waiting and waking, for coroutines, threads and futures alike.
//!
//! Something that can be waited on keeps a [`Waiter`] for each that waits, and wakes it. Whoever
//! waits looks, leaves its waiter, and parks; when it goes on, it looks again. Wake-ups are permits,
//! so one that comes between looking and parking is not lost, and one too many does no harm.

use core::time::Duration;
use std::sync::Arc;
use std::task::Waker;

use leno_context::unwind;

use crate::bell::Bell;
use crate::core::{Exit, Task};
use crate::mailbox::{self, Message};
use crate::policy::{Choice, Why};
use crate::raw::entered::{self, Here};
use crate::{Co, Exiting, Reason, Time};

/// Who waits, and how it is woken.
#[derive(Clone, Debug)]
pub enum Waiter {
    /// A coroutine of a core.
    Co(Co),
    /// A thread.
    Thread(Arc<Bell>),
    /// A future, of this kernel or of another executor.
    Waker(Waker),
}

thread_local!(static BELL: Arc<Bell> = Arc::new(Bell::new()));

impl Waiter {
    /// The calling code, which may then [`park`].
    ///
    /// # Panics
    /// Inside a future that a core polls: it must not park; use the `_async` form.
    #[track_caller]
    pub fn current() -> Waiter {
        entered::here(|here| match here {
            Here::Stack(inside) => Waiter::Co(inside.co),
            Here::Thread => Waiter::Thread(BELL.with(Arc::clone)),
            Here::Future(_, co) => refuse(co),
        })
    }

    /// Lets it go on.
    pub fn wake(self) {
        match self {
            Waiter::Co(co) => unpark(co),
            Waiter::Thread(bell) => bell.ring(),
            Waiter::Waker(waker) => waker.wake(),
        }
    }

    /// Whether waking either wakes the same.
    pub fn is_same(&self, other: &Waiter) -> bool {
        match (self, other) {
            (Waiter::Co(own), Waiter::Co(other)) => own == other,
            (Waiter::Thread(own), Waiter::Thread(other)) => Arc::ptr_eq(own, other),
            (Waiter::Waker(own), Waiter::Waker(other)) => own.will_wake(other),
            _ => false,
        }
    }
}

/// Why a park has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wake {
    /// Someone has unparked it, perhaps for another reason: look again.
    Unparked,
    /// The time is over.
    TimedOut,
    /// The coroutine is to exit: undo what is half done, then call [`exit`].
    Exit,
}

#[cold]
#[track_caller]
fn refuse(co: Co) -> ! {
    panic!(
        "a blocking operation inside a future ({co}): it would block all coroutines of its core; \
         use its `_async` form"
    )
}

/// Parks the calling coroutine or thread until it is unparked.
///
/// # Cancellation
/// Gives [`Wake::Exit`].
///
/// # Panics
/// Inside a future that a core polls.
#[inline]
#[track_caller]
pub fn park(reason: Reason) -> Wake {
    entered::here(|here| match here {
        Here::Stack(inside) => inside.core.park(&inside, reason),
        Here::Thread => {
            BELL.with(Arc::clone).wait();
            Wake::Unparked
        }
        Here::Future(_, co) => refuse(co),
    })
}

/// The same, until `deadline` at most; see [`deadline_in`].
#[track_caller]
pub fn park_until(reason: Reason, deadline: Time) -> Wake {
    entered::here(|here| match here {
        Here::Stack(inside) => inside.core.park_until(&inside, reason, deadline),
        Here::Thread => {
            let rung = BELL.with(Arc::clone).wait_for(deadline.since(thread_now()));
            if rung { Wake::Unparked } else { Wake::TimedOut }
        }
        Here::Future(_, co) => refuse(co),
    })
}

/// Parks the calling coroutine until it is unparked, even if it is to exit.
pub(crate) fn park_deaf(reason: Reason) -> Wake {
    entered::here(|here| match here {
        Here::Stack(inside) => {
            inside.task.masked.set(inside.task.masked.get() + 1);
            let wake = inside.core.park(&inside, reason);
            inside.task.masked.set(inside.task.masked.get() - 1);
            wake
        }
        _ => unreachable!("a coroutine with a stack waits"),
    })
}

/// Gives a coroutine its permit: if it is parked it goes on, else its next park ends at once. Of a
/// coroutine that has ended it names nobody, and nothing happens. Any thread may call this.
#[inline]
pub fn unpark(co: Co) {
    let here = entered::with_core(co.core(), |core| core.unpark(co, Why::Unparked));
    if here.is_none() {
        mailbox::of(co.core()).send(Message::Unpark(co));
    }
}

/// Makes a coroutine exit: what it waits for gives up, its stack unwinds, its destructors run. One
/// that has not started is dropped. Any thread may call this.
pub fn cancel(co: Co) {
    let here = entered::with_core(co.core(), |core| core.cancel(co, crate::Outcome::Exited));
    if here.is_none() {
        mailbox::of(co.core()).send(Message::Cancel(co));
    }
}

/// How often exit is raised in a body that catches it and goes on.
const EXIT_TRIES: u8 = 8;

/// Exits the calling coroutine, after [`Wake::Exit`]: unwinds its stack. Returns only while the
/// stack is unwinding already, for whoever called to give up with an error.
pub fn exit() -> Exiting {
    // Whoever leaves for good leaves its frames: none of them may refer to the core.
    let way_out = entered::here(|here| {
        let Here::Stack(inside) = here else { return None };
        if !inside.can_leave() {
            return None;
        }
        if let Exit::Asked { as_, raised } = inside.task.exit.get() {
            if raised >= EXIT_TRIES || cfg!(panic = "abort") {
                report_given_up(inside.co, inside.task);
                inside.task.exit.set(Exit::GivenUp);
                return Some(inside.for_ever());
            }
            inside.task.exit.set(Exit::Asked { as_, raised: raised + 1 });
        }
        Some(inside.out())
    });
    match way_out {
        Some(way_out) => way_out.take(),
        None => Exiting,
    }
}

#[cold]
fn report_given_up(co: Co, task: &Task) {
    let about = task.about.borrow();
    let why = if cfg!(panic = "abort") {
        "cannot be unwound, because panics abort in this build".to_owned()
    } else {
        format!("caught its exit {EXIT_TRIES} times and went on")
    };
    let (name, site) = (about.name.or_id(co.bits()), about.site);
    let who = format!("coroutine {name} (spawned at {site}) {why}");
    if task.borrows.get() {
        unwind::give_up(&format!("{who}; aborting, because it may borrow from its scope"));
    }
    eprintln!("leno: {who}; its stack is leaked");
}

/// What time it is for the calling code: its system's, or of a plain thread the process's.
pub fn now() -> Time {
    entered::here(|here| match here {
        Here::Stack(inside) => inside.core.platform.now(),
        Here::Future(core, _) => core.platform.now(),
        Here::Thread => thread_now(),
    })
}

fn thread_now() -> Time {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    Time::START + START.get_or_init(std::time::Instant::now).elapsed()
}

/// The time that is `wait` from [`now`].
pub fn deadline_in(wait: Duration) -> Time {
    now() + wait
}

/// The coroutine that runs the calling code, if a core runs it.
pub fn current() -> Option<Co> {
    entered::here(|here| match here {
        Here::Stack(inside) => Some(inside.co),
        Here::Future(_, co) => Some(co),
        Here::Thread => None,
    })
}

/// Answers a choice that the rules leave open, by the policy of the core that runs the calling code:
/// an index into the candidates, of which there are at least two. On a plain thread the first.
pub fn choose(choice: &Choice<'_>) -> usize {
    entered::here(|here| match here {
        Here::Stack(inside) => inside.core.choose(choice),
        Here::Future(core, _) => core.choose(choice),
        Here::Thread => 0,
    })
}

/// Lets others run. On a plain thread it yields to other threads.
///
/// # Cancellation
/// When the coroutine is to exit, this unwinds its stack.
///
/// # Panics
/// Inside a future that a core polls.
#[inline]
#[track_caller]
pub fn yield_now() {
    let wake = entered::here(|here| match here {
        Here::Stack(inside) => inside.core.yield_now(&inside),
        Here::Thread => {
            std::thread::yield_now();
            Wake::Unparked
        }
        Here::Future(_, co) => refuse(co),
    });
    if wake == Wake::Exit {
        exit();
    }
}

/// Waits for `time`.
///
/// # Cancellation
/// When the coroutine is to exit, this unwinds its stack.
///
/// # Panics
/// Inside a future that a core polls.
#[track_caller]
pub fn sleep(time: Duration) {
    let deadline = deadline_in(time);
    loop {
        match park_until(Reason::Sleeping, deadline) {
            Wake::TimedOut => return,
            Wake::Unparked if now() >= deadline => return,
            Wake::Unparked => {}
            Wake::Exit => {
                exit();
                return;
            }
        }
    }
}
