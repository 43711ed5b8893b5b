//! A world: threads, time and chance in the hands of one driver, on one OS thread.
//!
//! In a world every thread is a coroutine of the world's own core, which no program sees: code on
//! it finds itself on a plain thread. A system's cores are such threads, and run the same loop,
//! mailboxes, piles and bells as always; where a real thread would sleep, its coroutine parks. Time is
//! virtual. A *point* before each operation lets the driver run another thread instead; so does one in place of the time
//! for which code listens before it parks. So what is explored is the kernel that runs in production; docs/testing.md
//! lists what cannot be.
//!
//! Outside a world all this costs one load and one branch for each operation: `is_near`.
//!
//! Invariants:
//! - only one thread of a world runs at a time, and they change only at points and where they wait;
//! - no point is inside a lock, so a lock is never found taken.

mod driven;
mod ending;
mod played;
mod point;
mod thread;

use core::any::Any;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) use driven::{Driven, Steps};
pub use driven::{Driver, Step};
pub use ending::{Ending, Trouble};
pub(crate) use played::{has_thread_number, own_bell, thread_number};
pub use point::point;
pub(crate) use point::{listens, plain_point, ring_point, wait_point};
pub(crate) use thread::spawn_thread;
pub use thread::{is_own_place, spawn, trouble};

use crate::bell::Bell;
use crate::core::{Core, Parts};
use crate::dump::Depth;
use crate::log::Ring;
use crate::mailbox::Shelf;
use crate::raw::entered;
use crate::raw::world as raw;
use crate::user::{self, SystemHook};
use crate::wait::way_out_of_world;
use crate::window::Title;
use crate::{CoresError, Object, Outcome, Reason, Time, VirtualTime, Wake, mailbox};
use played::Played;

/// How many worlds there are in the process, above [`LOG`] how many cores with a log, and above
/// [`PREEMPTIVE`] how many whose coroutines may have budgets.
static OBSERVERS: AtomicU64 = AtomicU64::new(0);

/// One core with a log.
const LOG: u64 = 1 << 24;
/// One core whose coroutines may have budgets: operations count as units.
const PREEMPTIVE: u64 = 1 << 44;

/// Whether the calling code may be in a world.
#[inline(always)]
pub(crate) fn is_near() -> bool {
    OBSERVERS.load(Relaxed) & (LOG - 1) != 0
}

/// Whether some core of the process is in a world, has a log, or has budgets. If not, nobody need say what
/// it does.
#[inline(always)]
pub fn is_observed() -> bool {
    OBSERVERS.load(Relaxed) != 0
}

/// A core with a log is made (`true`), or is gone.
pub(crate) fn count_log(is_made: bool) {
    if is_made {
        OBSERVERS.fetch_add(LOG, Relaxed);
    } else {
        OBSERVERS.fetch_sub(LOG, Relaxed);
    }
}

/// A core whose coroutines may have budgets is made (`true`), or is gone.
pub(crate) fn count_preemptive(is_made: bool) {
    if is_made {
        OBSERVERS.fetch_add(PREEMPTIVE, Relaxed);
    } else {
        OBSERVERS.fetch_sub(PREEMPTIVE, Relaxed);
    }
}

/// Whether an operation has something to do at a point: it may be in a world, or count as a unit.
#[inline(always)]
fn has_points() -> bool {
    OBSERVERS.load(Relaxed) & !(PREEMPTIVE - LOG) != 0
}

/// Whether the calling code is in a world.
pub fn is_here() -> bool {
    is_near() && raw::with(|_| ()).is_some()
}

/// The number of the calling code's world, or none.
pub(crate) fn number() -> u32 {
    let number = || raw::with(|world| world.core.number() + 1);
    is_near().then(number).flatten().unwrap_or(mailbox::NO_WORLD)
}

/// What whoever set this world up has given to its program; `None` outside a world.
pub fn baggage() -> Option<Rc<dyn Any>> {
    if !is_near() {
        return None;
    }
    raw::with(|world| world.baggage.clone())
}

/// The one `T` of the calling code's world, made at its first use; `None` outside a world.
pub fn own<T: 'static>(make: impl FnOnce() -> T) -> Option<Rc<T>> {
    if !is_near() {
        return None;
    }
    let known = raw::with(|world| {
        let own = world.own.borrow();
        own.iter().find_map(|known| known.clone().downcast::<T>().ok())
    })?;
    if known.is_some() {
        return known;
    }
    // Code of a user: while it runs, nothing is borrowed.
    let made = Rc::new(make());
    raw::with(|world| {
        world.own.borrow_mut().push(made.clone());
        made
    })
}

/// See the module.
pub(crate) struct World {
    pub(crate) core: Core,
    pub(crate) driver: Rc<RefCell<dyn Driver>>,
    pub(crate) events: Option<Rc<Ring>>,
    /// What has gone wrong first.
    trouble: RefCell<Option<Trouble>>,
    points: Cell<u64>,
    most_points: u64,
    grace: Duration,
    /// What the driver's owner gives to the program.
    baggage: Rc<dyn Any>,
    /// What the program has one of; see [`own`].
    own: RefCell<Vec<Rc<dyn Any>>>,
    pub(crate) is_ending: Cell<bool>,
    shelf: Shelf,
    /// Those of its threads of which more was asked than what a coroutine has.
    played: RefCell<Vec<Played>>,
}

/// What a world is like.
pub struct Setup {
    /// Makes all choices.
    pub driver: Rc<RefCell<dyn Driver>>,
    /// How many events are written down; none if 0.
    pub log: usize,
    /// After how many points a run counts as endless.
    pub most_points: u64,
    /// What the program may ask for: see [`baggage`].
    pub baggage: Rc<dyn Any>,
    /// How long, in real time, a deadlock waits for a thread of which the world knows nothing: one that
    /// wakes someone meanwhile is what is wrong.
    pub grace: Duration,
}

/// Runs `main` as the first thread of a new world, until all its threads have ended.
///
/// # Errors
/// When the process has too many cores.
///
/// # Panics
/// Inside another world.
pub fn run(setup: Setup, main: impl FnOnce() + 'static) -> Result<Ending, CoresError> {
    let address = mailbox::open_for_world()?;
    let events = (setup.log > 0).then(|| Rc::new(Ring::new(setup.log)));
    let driven = Driven::new(setup.driver.clone(), true);
    let parts = Parts {
        platform: Box::new(VirtualTime::new()),
        steps: Some(driven.steps()),
        policy: Some(Box::new(driven)),
        log: events.clone(),
        team: None,
        title: Arc::new(Title {
            name: "world".to_owned(),
            cores: 1,
            object: Object::shared(),
            on_failure: SystemHook::default(),
        }),
        is_preemptive: false,
    };
    struct Near;
    impl Drop for Near {
        fn drop(&mut self) {
            OBSERVERS.fetch_sub(1, Relaxed);
        }
    }
    OBSERVERS.fetch_add(1, Relaxed);
    let _near = Near;
    let world = World {
        core: Core::new(address, parts).of_world(),
        driver: setup.driver,
        events,
        trouble: RefCell::new(None),
        points: Cell::new(0),
        most_points: setup.most_points,
        grace: setup.grace,
        baggage: setup.baggage,
        own: RefCell::default(),
        is_ending: Cell::new(false),
        shelf: Shelf::default(),
        played: RefCell::default(),
    };
    Ok(raw::enter(&world, || world.run(main)))
}

impl World {
    fn run(&self, main: impl FnOnce() + 'static) -> Ending {
        thread::begin(self, main);
        self.core.run_until(|core| core.tasks.live() == 0);
        if self.core.tasks.live() > 0 && self.trouble.borrow().is_none() {
            self.listen_outside();
        }
        leaves(self.core.mail.mailbox(), 0);
        let report = self.core.report();
        if !report.alive.is_empty() {
            let report = thread::without_own_places(&report.to_string());
            self.fail(Trouble::Deadlock(report + &waiting_inside()));
        }
        let log = self.core.take_log();
        self.is_ending.set(true);
        while self.core.tasks.live() > 0 {
            self.core.cancel_all();
            self.core.run_until(|core| core.tasks.live() == 0);
        }
        // What the program has one of goes with its threads; a destructor that panics is trouble, too.
        let own = self.own.take();
        user::discard_all(own);
        let given_up = self.core.observation.counts().given_up;
        if given_up > 0 {
            self.fail(Trouble::Leak(format!("{given_up} thread(s) could not be unwound")));
        }
        Ending { trouble: self.trouble.take(), log, points: self.points.get() }
    }

    /// Everyone waits: perhaps for a thread that was not made by this world. It has a moment to wake
    /// someone. Naps are counted, not time, which passes while a process is stopped.
    fn listen_outside(&self) {
        const NAP: Duration = Duration::from_millis(1);
        for _ in 0..self.grace.as_millis() {
            if self.core.mail.mailbox().has_strayed() {
                return;
            }
            std::thread::sleep(NAP);
        }
    }

    /// Writes the first trouble down.
    pub(crate) fn fail(&self, trouble: Trouble) {
        self.trouble.borrow_mut().get_or_insert(trouble);
    }

    /// All threads are to unwind.
    fn end(&self) {
        if !self.is_ending.replace(true) {
            self.core.cancel_all();
        }
    }
}

/// The coroutines of the systems that threads of this world run, as lines of text.
fn waiting_inside() -> String {
    let mut text = String::new();
    entered::each_core(|core| {
        if core.entry.is_in_world() {
            for alive in core.survey(Depth::States).alive {
                let line =
                    format!("\n  of system '{}': {alive}", core.observation.window().title.name);
                text.push_str(&line);
            }
        }
    });
    text
}

/// Where a thread of a world would wait for a bell, it parks. Whether it was rung; `None` outside a
/// world.
pub(crate) fn wait_for_bell(bell: &Bell, limit: Option<Duration>) -> Option<bool> {
    if !is_near() {
        return None;
    }
    let waited = raw::with_running(|inside| {
        let core = inside.core;
        let deadline = limit.map(|limit| core.clock.platform().now() + limit);
        loop {
            if bell.take() {
                return Ok(true);
            }
            bell.listen_as(inside.co);
            let wake = match deadline {
                None => core.park(inside, Reason::Passive),
                Some(deadline) => {
                    let asked = (inside.task.parks.get(), core.clock.platform().now());
                    core.park_until(inside, Reason::Passive, deadline, asked)
                }
            };
            bell.listen_no_more();
            match wake {
                Wake::Unparked => {}
                Wake::TimedOut => return Ok(bell.take()),
                Wake::Exit if inside.can_leave() => return Err(way_out_of_world(inside, true)),
                Wake::Exit => return Ok(false),
            }
        }
    })?;
    match waited {
        Ok(rung) => Some(rung),
        Err(way_out) => way_out.take(),
    }
}

/// A core of this world has done its work: nobody else may have written to it, and nobody may be left.
pub(crate) fn leaves(mailbox: &mailbox::Mailbox, given_up: u64) {
    if !is_near() {
        return;
    }
    if given_up > 0 {
        let what = format!("{given_up} coroutine(s) caught their exit again and again");
        raw::with(|world| world.fail(Trouble::Leak(what)));
    }
    if mailbox.has_strayed() {
        let what = "a thread that was not made by explore::thread has woken someone; threads of \
                    std::thread are not decided, use explore::thread::spawn"
            .to_owned();
        raw::with(|world| world.fail(Trouble::NotControlled(what)));
    }
}

/// In a world nobody can say when something outside happens: using a descriptor ends the run.
///
/// # Errors
/// In a world.
#[inline(always)]
pub(crate) fn refuse_io() -> std::io::Result<()> {
    if is_near() { refuse_io_here() } else { Ok(()) }
}

#[cold]
fn refuse_io_here() -> std::io::Result<()> {
    let what = "real I/O: a file descriptor was used";
    match raw::with(|world| world.fail(Trouble::NotControlled(what.to_owned()))) {
        None => Ok(()),
        Some(()) => {
            let kind = std::io::ErrorKind::Unsupported;
            Err(std::io::Error::new(kind, format!("not controlled: {what}")))
        }
    }
}

/// With the numbers that are kept for cores of the calling code's world.
pub(crate) fn with_shelf<R>(f: impl FnOnce(&Shelf) -> R) -> Option<R> {
    if !is_near() {
        return None;
    }
    raw::with(|world| f(&world.shelf))
}

/// What time it is in the calling code's world.
pub(crate) fn now() -> Option<Time> {
    if !is_near() {
        return None;
    }
    raw::with(|world| world.core.clock.platform().now())
}

/// The thread of a world that runs the calling code.
pub(crate) fn current_thread() -> Option<crate::Co> {
    if !is_near() {
        return None;
    }
    raw::with(|world| world.core.entry.running.get().co()).flatten()
}

/// Whether the calling code's world is at its end, so that all must stop.
#[inline(always)]
pub(crate) fn is_ending() -> bool {
    is_near() && raw::with(|world| world.is_ending.get()).unwrap_or(false)
}

/// The running thread of a world ends by itself when the world does.
pub(crate) fn hold() {
    if is_near() {
        raw::with_running(|inside| inside.task.masked.set(1));
    }
}

/// What a core gets that is made in a world: the driver's choices, and the world's log.
pub(crate) fn parts_for(parts: &mut Parts) {
    if !is_near() {
        return;
    }
    raw::with(|world| {
        if parts.policy.is_none() {
            let driven = Driven::new(world.driver.clone(), false);
            parts.steps = Some(driven.steps());
            parts.policy = Some(Box::new(driven));
        }
        parts.log = world.events.clone();
    });
}

/// A coroutine of a system in this world has panicked, and nobody has asked how it ended.
pub(crate) fn saw_panic(who: String, payload: &(dyn Any + Send)) {
    if is_near() {
        let what = ending::text_of(payload);
        raw::with(|world| world.fail(Trouble::Panicked { who, what }));
    }
}

/// How a thread of the world that was made to unwind ends.
pub(crate) const UNWOUND: Outcome = Outcome::Exited;
