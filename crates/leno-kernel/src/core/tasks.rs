//! What a core knows of its coroutines, in [slots](crate::raw::slots) that never move.
//!
//! A slot's generation counts the coroutines that have had it; a [`Co`] of an earlier one finds
//! nobody.

use core::cell::{Cell, RefCell};
use core::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use leno_context::Name;

use super::StateCell;
use super::body::Body;
use super::parked::Parked;
use crate::attach::Inbox;
use crate::co::GENERATIONS;
use crate::join::Adoption;
use crate::policy::{Hint, Ready, Why};
use crate::raw::lent::Lent;
use crate::raw::slots::{MOST, Slots};
use crate::raw::stack::Seat;
use crate::{Co, Outcome, State, Time};

/// A coroutine, as its core knows it. What each turn needs comes first, in one cache line.
#[repr(C, align(64))]
pub(crate) struct Task {
    /// Its name, or that of the next one here: one comparison tells whether a name is still good.
    co: Cell<Co>,
    state: Cell<State>,
    /// Its stack, once it has started.
    pub(crate) seat: Seat,
    /// Since when it is in its state, roughly.
    pub(crate) since: Cell<Time>,
    /// The sign of what it waits for.
    pub(crate) lent: Lent,
    /// How many parts of it wait without being interruptible by an exit.
    pub(crate) masked: Cell<u32>,
    /// How many sections it is in where it may not be preempted.
    pub(crate) unpreempted: Cell<u32>,
    /// How often it has parked; wraps around.
    pub(crate) parks: Cell<u32>,
    /// An unpark that came while it was not parked.
    pub(crate) permit: Cell<bool>,
    /// It goes to a sink when it becomes ready.
    pub(crate) has_sink: Cell<bool>,
    pub(crate) exit: Cell<Exit>,
    /// It borrows from a scope, which must not end before it.
    pub(crate) borrows: Cell<bool>,
    /// It runs another one, which comes back to it.
    pub(crate) attaches: Cell<bool>,
    pub(crate) sink: RefCell<Option<Rc<Inbox>>>,
    /// What it is to run, or to poll.
    pub(crate) body: Cell<Body>,
    /// Wakes it; made when first needed.
    waker: Cell<Option<Arc<Rouser>>>,
    /// Who waits for its end, should that never come.
    waited_for_by: Cell<Option<Arc<dyn Adoption>>>,
    pub(crate) about: RefCell<About>,
}

const _: () = assert!(core::mem::offset_of!(Task, borrows) == 64, "the first line is full");

/// Whether a coroutine is to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// No.
    No,
    /// Yes, and it ends like this; raised so many times by now.
    Asked { as_: Outcome, raised: u8 },
    /// It has caught its exit again and again: its stack is left as it is, for ever.
    GivenUp,
}

impl Exit {
    /// How it ends then.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Exit::Asked { as_, .. } => as_,
            Exit::No | Exit::GivenUp => Outcome::Exited,
        }
    }
}

/// What is said of a coroutine when it is spawned.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) name: Name,
    pub(crate) site: &'static Location<'static>,
    pub(crate) stack_size: usize,
    pub(crate) priority: i32,
    /// See [`heritage`](mod@crate::heritage).
    pub(crate) heritage: u32,
    pub(crate) deadline: Option<Time>,
    pub(crate) born: Time,
}

impl About {
    /// What a policy is told when it can run.
    pub(crate) fn ready(&self, co: Co, why: Why, hint: Hint, now: Time) -> Ready<'_> {
        let About { name, priority, deadline, .. } = self;
        Ready { co, name, why, hint, priority: *priority, deadline: *deadline, now }
    }
}

impl Task {
    fn new(co: Co, about: About, body: Body, waited_for_by: Arc<dyn Adoption>) -> Task {
        Task {
            co: Cell::new(co),
            state: Cell::new(State::New),
            since: Cell::new(Time::START),
            lent: Lent::new(),
            parks: Cell::new(0),
            permit: Cell::new(false),
            exit: Cell::new(Exit::No),
            borrows: Cell::new(false),
            attaches: Cell::new(false),
            has_sink: Cell::new(false),
            sink: RefCell::new(None),
            masked: Cell::new(0),
            unpreempted: Cell::new(0),
            seat: Seat::new(),
            body: Cell::new(body),
            waker: Cell::new(None),
            about: RefCell::new(about),
            waited_for_by: Cell::new(Some(waited_for_by)),
        }
    }

    /// The slot of one that has ended is another's.
    fn begin(&self, about: About, body: Body, waited_for_by: Arc<dyn Adoption>) {
        self.state.set(State::New);
        self.lent.clear();
        self.permit.set(false);
        self.exit.set(Exit::No);
        self.borrows.set(false);
        self.masked.set(0);
        self.unpreempted.set(0);
        self.body.set(body);
        self.waited_for_by.set(Some(waited_for_by));
        *self.about.borrow_mut() = about;
    }

    /// Tells whoever waits for its end that it will never come.
    pub(crate) fn abandon(&self) {
        if let Some(waiting) = self.waited_for_by.take() {
            waiting.abandon();
        }
    }

    /// Takes what the core has of its result: whoever drops it may drop the result.
    pub(crate) fn take_adoption(&self) -> Option<Arc<dyn Adoption>> {
        self.waited_for_by.take()
    }

    /// Whether nobody but the core can have its result.
    fn has_no_joiner(&self) -> bool {
        let waited_for_by = self.waited_for_by.take();
        let is_last = waited_for_by.as_ref().is_some_and(|own| Arc::strong_count(own) == 1);
        self.waited_for_by.set(waited_for_by);
        is_last
    }

    /// Its name, if user code may panic on its behalf from now on.
    pub(super) fn name_to_blame(&self) -> Name {
        if self.has_no_joiner() { self.about.borrow().name.clone() } else { Name::NONE }
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> State {
        self.state.get()
    }

    /// Changes the state, by the table.
    #[inline(always)]
    pub(crate) fn become_(&self, next: State) {
        debug_assert!(
            self.state().may_become(next),
            "a coroutine cannot go from {:?} to {next:?}",
            self.state(),
        );
        self.state.set(next);
    }
}

/// All coroutines of a core.
pub(crate) struct Tasks {
    core: u32,
    /// All slots that have been in use.
    slots: Slots<Task>,
    /// Slots that are not in use.
    free: StateCell<Vec<u32>>,
    live: Cell<usize>,
    /// How many of them are parked.
    pub(super) parked: Parked,
    /// The generation of slots that are used for the first time.
    first_generation: u32,
    highest_generation: Cell<u32>,
}

impl Tasks {
    pub(crate) fn new(core: u32, first_generation: u32) -> Tasks {
        Tasks {
            core,
            slots: Slots::new(),
            free: StateCell::default(),
            live: Cell::new(0),
            parked: Parked::default(),
            first_generation,
            highest_generation: Cell::new(first_generation),
        }
    }

    /// How many are alive.
    #[inline(always)]
    pub(crate) fn live(&self) -> usize {
        self.live.get()
    }

    /// A generation greater than any that was used.
    pub(crate) fn unused_generation(&self) -> u32 {
        self.highest_generation.get() + 1
    }

    /// The generation that a slot's first coroutine has.
    pub(crate) fn first_generation(&self) -> u32 {
        self.first_generation
    }

    /// The coroutine, if it is alive.
    #[inline(always)]
    pub(crate) fn get(&self, co: Co) -> Option<&Task> {
        let task = self.slots.get(co.slot())?;
        (task.co.get() == co).then_some(task)
    }

    /// Starts loading what is known of a coroutine.
    #[inline(always)]
    pub(crate) fn prefetch(&self, co: Co) {
        if let Some(task) = self.slots.get(co.slot()) {
            leno_context::switch::prefetch((&raw const *task).cast());
        }
    }

    /// Makes room for a new coroutine, which is [`State::New`]; `None` if a core holds no more.
    pub(crate) fn add(
        &self,
        about: About,
        body: Body,
        waited_for_by: Arc<dyn Adoption>,
    ) -> Option<(Co, &Task)> {
        let free = self.free.borrow_mut().pop();
        let task = match free {
            Some(slot) => {
                let task = self.slots.get(slot).expect("it has been in use");
                task.begin(about, body, waited_for_by);
                task
            }
            None if self.slots.len() == MOST => return None,
            None => {
                let co = Co::new(self.core, self.slots.len(), self.first_generation);
                self.slots.push(Task::new(co, about, body, waited_for_by))
            }
        };
        self.live.set(self.live.get() + 1);
        Some((task.co.get(), task))
    }

    /// Forgets a coroutine that has ended. What is left of it is the caller's to drop: a result that nobody
    /// has taken is a user's.
    #[must_use = "dropping it runs user code"]
    pub(crate) fn remove(&self, co: Co) -> Option<Arc<dyn Adoption>> {
        let task = self.get(co)?;
        debug_assert!(matches!(task.state(), State::Finished(_)));
        task.waker.take();
        let waited_for_by = task.waited_for_by.take();
        self.live.set(self.live.get() - 1);
        let next = co.generation() + 1;
        self.highest_generation.set(self.highest_generation.get().max(next));
        task.co.set(Co::new(self.core, co.slot(), next));
        // A slot whose generations are used up is not used again.
        if next < GENERATIONS - 1 {
            self.free.borrow_mut().push(co.slot());
        }
        waited_for_by
    }

    /// All that are alive, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Co, &Task)> + '_ {
        (0..self.slots.len()).filter_map(|slot| {
            let task = self.slots.get(slot)?;
            let alive = !matches!(task.state(), State::Finished(_));
            alive.then(|| (task.co.get(), task))
        })
    }
}

/// Unparks a coroutine, from wherever it is called. Its count tells how many wakers there are.
struct Rouser(Co);

impl std::task::Wake for Rouser {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        crate::wait::unpark_quietly(self.0, Hint::Back);
    }
}

impl Task {
    /// A waker that unparks it.
    pub(crate) fn waker(&self, co: Co) -> Waker {
        let kept = self.waker.take().unwrap_or_else(|| Arc::new(Rouser(co)));
        let waker = Waker::from(kept.clone());
        self.waker.set(Some(kept));
        waker
    }

    /// How many wakers of it others have, while it waits for a future.
    pub(crate) fn wakers_held(&self) -> usize {
        let kept = self.waker.take();
        // The slot itself holds one, and one with a stack a second: it blocks on its future.
        let own = if self.seat.is_free() { 1 } else { 2 };
        let held = kept.as_ref().map_or(0, |kept| Arc::strong_count(kept).saturating_sub(own));
        self.waker.set(kept);
        held
    }

    /// Whether it is a future, and does not run.
    pub(crate) fn is_future(&self) -> bool {
        let body = self.body.take();
        let is_future = matches!(body, Body::Future(_));
        self.body.set(body);
        is_future
    }
}
