//! Waiting and waking, for coroutines, threads and futures alike.
//!
//! Something that can be waited on keeps a [`Waiter`] for each that waits, and wakes it. Whoever
//! waits looks, leaves its waiter, and parks; when it goes on, it looks again. Wake-ups are permits,
//! so one that comes between looking and parking is not lost, and one too many does no harm.

use core::cell::OnceCell;
use core::fmt;
use core::mem::ManuallyDrop;
use core::time::Duration;
use std::sync::Arc;
use std::task::Waker;

use leno_context::{last_words, unwind};

use crate::bell::Bell;
use crate::core::{Exit, Task};
use crate::mailbox::{self, Message};
use crate::policy::{Choice, Hint, Why};
use crate::raw::entered::{self, Here, Inside, Visit, WayOut};
use crate::window::process_now;
use crate::{Co, Exiting, Outcome, Reason, Time, user, world};

/// Who waits, and how it is woken.
///
/// Cloning and dropping one may run code of a user, that of its waker.
#[derive(Debug)]
pub enum Waiter {
    /// A coroutine of a core.
    Co(Co),
    /// A thread.
    Thread(Arc<Bell>),
    /// A future, of this kernel or of another executor.
    Waker(Waker),
}

thread_local! {
    static BELL: Arc<Bell> = Arc::new(Bell::new());
    /// The bell of a thread that ends, for its other destructors: never dropped, so it is always there.
    static LATE: OnceCell<ManuallyDrop<Arc<Bell>>> = const { OnceCell::new() };
}

/// The calling thread's own bell; in a world, that of the thread that it plays.
pub(crate) fn own_bell() -> Arc<Bell> {
    if let Some(bell) = world::own_bell() {
        return bell;
    }
    let late =
        || LATE.with(|bell| Arc::clone(bell.get_or_init(|| ManuallyDrop::new(Arc::default()))));
    BELL.try_with(Arc::clone).unwrap_or_else(|_| late())
}

impl Clone for Waiter {
    #[inline]
    fn clone(&self) -> Waiter {
        match self {
            Waiter::Co(co) => Waiter::Co(*co),
            Waiter::Thread(bell) => Waiter::Thread(bell.clone()),
            Waiter::Waker(waker) => {
                user::assert_outside();
                Waiter::Waker(waker.clone())
            }
        }
    }
}

impl Waiter {
    /// The calling code, which may then [`park`].
    ///
    /// # Panics
    /// Inside a future that a core polls: it must not park; use the `_async` form.
    #[inline]
    #[track_caller]
    pub fn current() -> Waiter {
        Waiter::try_current().unwrap_or_else(|co| refuse(co))
    }

    /// As [`Self::current`], for callers that hold a lock: a panic would run the user's panic hook meanwhile.
    ///
    /// # Errors
    /// Inside a future that a core polls; with its name.
    #[inline]
    pub fn try_current() -> Result<Waiter, Co> {
        entered::here(|here| match here {
            Here::Stack(inside) | Here::Virtual(inside) => Ok(Waiter::Co(inside.co)),
            Here::Thread => Ok(Waiter::Thread(own_bell())),
            Here::Future(_, co) => Err(co),
        })
    }

    /// Lets it go on. A panic of a waker goes to the failure hook; see [`user`](crate::user).
    #[inline]
    pub fn wake(self) {
        match self {
            Waiter::Co(co) => drop(unpark_quietly(co, Hint::Back)),
            Waiter::Thread(bell) => {
                // In a world only one that listens has a bell, and it may have left by now.
                world::ring_point();
                bell.ring();
            }
            Waiter::Waker(waker) => user::wake_waker(waker),
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
    world::wait_point();
    entered::visit(Park(reason))
}

struct Park(Reason);

impl Visit for Park {
    type Output = Wake;

    #[inline(always)]
    #[track_caller]
    fn visit(self, here: Here<'_>) -> Wake {
        match here {
            Here::Stack(inside) | Here::Virtual(inside) => inside.core.park(&inside, self.0),
            Here::Thread => {
                own_bell().wait();
                Wake::Unparked
            }
            Here::Future(_, co) => refuse(co),
        }
    }
}

/// Parks as [`park`], until `deadline` at most; see [`deadline_in`].
#[track_caller]
pub fn park_until(reason: Reason, deadline: Time) -> Wake {
    world::wait_point();
    // A clock is code of a user: asked before the proof is given.
    let (parks, now) = (parks(), now());
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => {
            inside.core.park_until(&inside, reason, deadline, (parks, now))
        }
        Here::Thread => {
            let rung = own_bell().wait_for(deadline.since(now));
            if rung { Wake::Unparked } else { Wake::TimedOut }
        }
        Here::Future(_, co) => refuse(co),
    })
}

/// Parks the calling coroutine or thread until it is unparked, even if it is to exit. For those who
/// build on the kernel, when something outside still uses what is on the coroutine's stack: a system
/// call in flight, say. They see to it that whoever wakes it comes soon.
///
/// # Cancellation
/// An exit does not end it. It gives [`Wake::Exit`] only while the coroutine's own stack unwinds, when
/// nothing can be waited for; see [`can_park`](crate::can_park).
///
/// # Panics
/// Inside a future that a core polls.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Reason, Waiter, cancel, current};
/// use leno_kernel::layer::park_deaf;
///
/// let system = LocalSystem::new();
/// let waits = system.spawn(|| {
///     let waiter = Waiter::current();
///     let helper = std::thread::spawn(move || waiter.wake());
///     cancel(current().expect("a coroutine"));
///     let wake = park_deaf(Reason::Blocking);
///     helper.join().expect("it does not panic");
///     wake
/// });
/// system.run()?;
/// assert_eq!(waits.join()?, leno_kernel::Wake::Unparked);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn park_deaf(reason: Reason) -> Wake {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => {
            inside.task.masked.set(inside.task.masked.get() + 1);
            let wake = inside.core.park(&inside, reason);
            inside.task.masked.set(inside.task.masked.get() - 1);
            wake
        }
        Here::Thread => {
            own_bell().wait();
            Wake::Unparked
        }
        Here::Future(_, co) => refuse(co),
    })
}

/// Returns how often the calling coroutine or thread has parked, a number that wraps around.
///
/// User code that is called between a look and the park after it may park itself, and take the permit that was meant
/// for that park. If this number has changed meanwhile, look again instead of parking.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Reason, current, park, unpark};
/// use leno_kernel::layer::parks;
///
/// let system = LocalSystem::new();
/// let counts = system.spawn(|| {
///     let before = parks();
///     unpark(current().expect("a coroutine"));
///     park(Reason::Sleeping);
///     parks() - before
/// });
/// system.run()?;
/// assert_eq!(counts.join()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parks() -> u32 {
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => inside.task.parks.get(),
        Here::Thread => own_bell().waits(),
        // Nothing parks there.
        Here::Future(..) => 0,
    })
}

/// Gives a coroutine its permit: if it is parked it goes on, else its next park ends at once. Of a
/// coroutine that has ended it names nobody, and nothing happens. Any thread may call this.
#[inline]
pub fn unpark(co: Co) {
    unpark_with(co, Hint::Back);
}

/// The same, with a wish where in the queue it should be. From another thread the wish is not heard.
#[inline]
pub fn unpark_with(co: Co, hint: Hint) {
    world::plain_point();
    unpark_quietly(co, hint);
}

/// The same, where other threads of a world must not run first: in the middle of an operation.
/// Whether it is ready now, and a policy decides when it runs.
#[inline(always)]
pub(crate) fn unpark_quietly(co: Co, hint: Hint) -> bool {
    let here = entered::with_core(co.core(), |core| core.unpark(co, Why::Unparked, hint));
    here.unwrap_or_else(|| {
        send(co, Message::Unpark(co));
        false
    })
}

/// The same for one with whom the calling code has had a rendezvous: if both are coroutines of one core,
/// its policy says who of the two goes on ([`ChoiceKind::After`]); without a policy, or if the calling
/// code has no stack, it goes on itself.
///
/// Nothing may be half done, or locked, when this is called: others may run before it returns. It is no
/// place to exit.
///
/// [`ChoiceKind::After`]: crate::policy::ChoiceKind::After
#[inline]
pub fn unpark_partner(co: Co) {
    if unpark_quietly(co, Hint::Back) {
        give_way();
    }
}

/// Lets the policy say who goes on: the calling coroutine, or whoever it has unparked or spawned last,
/// as [`unpark_partner`] does. Without a policy, or without a stack, nothing happens.
///
/// # Cancellation
/// It is no place to exit: what the coroutine was doing is done, and it may have something in hand. If it is to exit, it
/// does so at its next operation.
#[inline(never)]
pub fn give_way() {
    user::without_exit(|| {
        entered::here(|here| {
            if let Here::Stack(inside) = here
                && inside.core.has_policy()
            {
                inside.core.give_way(&inside);
            }
        });
    });
}

/// Makes a coroutine exit: what it waits for gives up, its stack unwinds, its destructors run. One
/// that has not started is dropped. Any thread may call this.
pub fn cancel(co: Co) {
    world::plain_point();
    let here = entered::with_core(co.core(), |core| core.cancel(co, Outcome::Exited));
    if here.is_none() {
        send(co, Message::Cancel(co));
    }
}

/// Asks something of a coroutine that is of no core which this thread has entered.
fn send(co: Co, message: Message) {
    // The calling core's own team need not be looked up.
    let answered = entered::with_team(co.core(), |core| {
        core.membership.team().into_iter().for_each(|team| team.answer(&message));
    });
    if answered.is_none() {
        mailbox::of(co.core()).send(message);
    }
}

/// A call link: unparks `callee`, which is to run next, and parks the calling coroutine until
/// someone unparks it in turn. It shows as calling the callee meanwhile.
///
/// # Cancellation
/// Gives [`Wake::Exit`].
///
/// # Panics
/// When the calling code is no coroutine with a stack, or `callee` is of another core.
#[track_caller]
pub fn call(callee: Co) -> Wake {
    entered::here(|here| match here {
        Here::Stack(inside) => {
            let own = inside.co;
            assert!(own.core() == callee.core(), "{own} cannot call {callee}: of another core");
            inside.core.call(&inside, callee)
        }
        Here::Thread | Here::Virtual(_) => {
            panic!("a plain thread cannot call {callee}: it has no core")
        }
        Here::Future(_, co) => refuse(co),
    })
}

/// How often exit is raised in a body that catches it and goes on.
const EXIT_TRIES: u8 = 8;
/// The same for a thread of a world: one whose systems' coroutines exit one after the other is not obstinate.
const THREAD_EXIT_TRIES: u8 = u8::MAX;

/// Exits the calling coroutine, after [`Wake::Exit`]: unwinds its stack. Returns only while the
/// stack is unwinding already, for whoever called to give up with an error.
pub fn exit() -> Exiting {
    // Whoever leaves for good leaves its frames: none of them may refer to the core.
    let way_out = entered::here(|here| {
        let (inside, tries) = match here {
            Here::Stack(inside) => (inside, EXIT_TRIES),
            Here::Virtual(inside) => (inside, THREAD_EXIT_TRIES),
            Here::Thread | Here::Future(..) => return None,
        };
        inside.can_leave().then(|| way_out(&inside, tries))
    });
    match way_out {
        Some(way_out) => way_out.take(),
        None => Exiting,
    }
}

/// The way out of a coroutine that is to exit: it unwinds, unless it has caught its exit so often that it is
/// given up.
fn way_out(inside: &Inside<'_>, tries: u8) -> WayOut {
    if let Exit::Asked { as_, raised } = inside.task.exit.get() {
        if raised >= tries || cfg!(panic = "abort") {
            report_given_up(inside.co, inside.task, tries);
            inside.task.exit.set(Exit::GivenUp);
            return inside.for_ever();
        }
        inside.task.exit.set(Exit::Asked { as_, raised: raised + 1 });
    }
    inside.out()
}

/// The same for one whose world ends, whether it was asked to exit or not.
pub(crate) fn way_out_of_world(inside: &Inside<'_>, is_thread: bool) -> WayOut {
    if leno_context::is_planted("explore-endless") {
        return inside.out();
    }
    if inside.task.exit.get() == Exit::No {
        inside.task.exit.set(Exit::Asked { as_: world::UNWOUND, raised: 0 });
    }
    way_out(inside, if is_thread { THREAD_EXIT_TRIES } else { EXIT_TRIES })
}

/// Ends the calling coroutine as one that waits in vain: as [`exit`], with this outcome, unless it is
/// to exit for another reason already. For operations that can never succeed. Inside a future this
/// returns, and the core drops the future as soon as it is pending.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Outcome};
/// use leno_kernel::layer::exit_as;
///
/// let system = LocalSystem::new();
/// let hungry = system.spawn(|| {
///     exit_as(Outcome::Starved);
/// });
/// assert_eq!(system.run()?.removed, 1);
/// assert_eq!(hungry.join().unwrap_err().outcome(), Some(Outcome::Starved));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cold]
pub fn exit_as(outcome: Outcome) -> Exiting {
    entered::here(|here| {
        let task = match &here {
            Here::Stack(inside) => Some(inside.task),
            Here::Future(core, co) => core.tasks.get(*co),
            Here::Thread | Here::Virtual(_) => None,
        };
        if let Some(task) = task.filter(|task| task.exit.get() == Exit::No) {
            task.exit.set(Exit::Asked { as_: outcome, raised: 0 });
        }
    });
    exit()
}

#[cold]
fn report_given_up(co: Co, task: &Task, tries: u8) {
    let about = task.about.borrow();
    let (name, site) = (about.name.or_id(co.bits()), about.site);
    // Last words allocate nothing.
    let who = fmt::from_fn(|f| {
        write!(f, "coroutine {name} (spawned at {site}) ")?;
        match cfg!(panic = "abort") {
            true => f.write_str("cannot be unwound, because panics abort in this build"),
            false => write!(f, "caught its exit {tries} times and went on"),
        }
    });
    if task.borrows.get() {
        unwind::give_up(format_args!("{who}; aborting, because it may borrow from its scope"));
    }
    // What explores a program tells of it by other means.
    if !world::is_here() {
        last_words::say(format_args!("{who}; its stack is leaked"));
    }
}

/// What time it is for the calling code: its system's, or of a plain thread the process's.
pub fn now() -> Time {
    // It is code of a user, which must not run while something refers to the core.
    let platform = entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => Some(inside.core.clock.platform().clone()),
        Here::Future(core, _) => Some(core.clock.platform().clone()),
        Here::Thread => None,
    });
    platform.map_or_else(process_now, |platform| platform.now())
}

/// What time it is by a clock that the calling code has in common with all that can meet it: in a world
/// the world's, else the process's, however often systems have begun to count anew. Where a system's
/// time is virtual, it is that one's, which has nothing in common with others.
pub fn common_now() -> Time {
    let platform = entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => Some(inside.core.clock.platform().clone()),
        Here::Future(core, _) => Some(core.clock.platform().clone()),
        Here::Thread => None,
    });
    match platform {
        Some(platform) if platform.is_virtual() => platform.now(),
        _ => world::now().unwrap_or_else(process_now),
    }
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
        Here::Thread | Here::Virtual(_) => None,
    })
}

/// Answers a choice that the rules leave open, by the policy of the core that runs the calling code:
/// an index into the candidates, of which there are at least two. On a plain thread the first.
///
/// # Cancellation
/// It is no place to exit: a coroutine that is to exit does so at its next operation.
pub fn choose(choice: &Choice<'_>) -> usize {
    let mut chosen = 0;
    user::without_exit(|| {
        chosen = entered::here(|here| match here {
            Here::Stack(inside) | Here::Virtual(inside) => inside.core.choose(choice),
            Here::Future(core, _) => core.choose(choice),
            Here::Thread => 0,
        });
    });
    chosen
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
    world::plain_point();
    if entered::visit(Yield) == Wake::Exit {
        exit();
    }
}

struct Yield;

impl Visit for Yield {
    type Output = Wake;

    #[inline(always)]
    #[track_caller]
    fn visit(self, here: Here<'_>) -> Wake {
        match here {
            Here::Stack(inside) => inside.core.yield_now(&inside),
            // The point was its turn for others.
            Here::Virtual(_) => Wake::Unparked,
            Here::Thread => {
                std::thread::yield_now();
                Wake::Unparked
            }
            Here::Future(_, co) => refuse(co),
        }
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
