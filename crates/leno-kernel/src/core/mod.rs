//! A core: runs coroutines, one at a time, on one thread.
//!
//! Everything here is used by the core's thread alone. Other threads reach it through its
//! [`mailbox`]; what they ask for is done when the core next looks there.
//!
//! Invariants:
//! - a coroutine is in the queue exactly while it is [`State::Ready`];
//! - at most one is [`State::Running`], and then `entry.running` says which;
//! - a started body with a stack sits in its slot's seat; what has not started, or is a future, is in
//!   `body`, except while it runs.

mod body;
mod queue;
mod run;
mod tasks;

pub(crate) use body::Body;
pub(crate) use run::Stop;
pub(crate) use tasks::{About, Exit, Task};

use core::cell::{Cell, RefCell};

use std::sync::Arc;

use self::queue::Queue;
use self::tasks::Tasks;
use crate::join::Adoption;
use crate::mailbox::{self, Mailbox, Message};
use crate::policy::{Choice, Hint, Policy, Ready, Why};
use crate::raw::entered::{Entry, Inside};
use crate::report::Failure;
use crate::system::{Team, Work};
use crate::timers::{TimerKey, Timers};
use crate::{Co, Outcome, Platform, Reason, SpawnError, State, Time, Wake};

/// See the module.
pub(crate) struct Core {
    pub(crate) entry: Entry,
    pub(crate) mailbox: &'static Mailbox,
    pub(crate) tasks: Tasks,
    queue: RefCell<Queue>,
    /// How many are in the queue.
    ready: Cell<usize>,
    /// How many are parked whom the outside may wake; those who wait for a future are apart.
    open: Cell<usize>,
    futures: Cell<usize>,
    /// What time it was when the core last looked.
    now: Cell<Time>,
    timers: RefCell<Timers<Co>>,
    pub(crate) platform: Box<dyn Platform>,
    /// Messages that are being read; kept for its memory.
    reading: RefCell<Vec<Message>>,
    pub(crate) counts: Cell<Counts>,
    /// How the running body has ended; read when it has left.
    pub(crate) outcome: Cell<Option<Outcome>>,
    /// Panics that nobody waits for.
    pub(crate) failures: RefCell<Vec<Failure>>,
    /// The other cores of its system.
    pub(crate) team: Option<Membership>,
    /// How many messages it has read, and had when it was last idle.
    read: Cell<usize>,
    read_before: Cell<usize>,
}

/// A core's place in a team.
pub(crate) struct Membership {
    pub(crate) team: Arc<Team>,
    pub(crate) place: usize,
}

/// What has happened on a core so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) spawned: u64,
    pub(crate) returned: u64,
    pub(crate) panicked: u64,
    pub(crate) exited: u64,
    pub(crate) removed: u64,
    pub(crate) given_up: u64,
}

impl Core {
    pub(crate) fn new(
        address: mailbox::Address,
        platform: Box<dyn Platform>,
        policy: Option<Box<dyn Policy>>,
        team: Option<Membership>,
    ) -> Core {
        let mailbox = address.mailbox;
        let now = platform.now();
        Core {
            entry: Entry::new(),
            mailbox,
            tasks: Tasks::new(mailbox.number, address.generation),
            queue: RefCell::new(
                policy.map_or_else(|| Queue::Fifo(Default::default()), Queue::Policy),
            ),
            ready: Cell::new(0),
            open: Cell::new(0),
            futures: Cell::new(0),
            now: Cell::new(now),
            timers: RefCell::new(Timers::new(now)),
            platform,
            reading: RefCell::default(),
            counts: Cell::default(),
            outcome: Cell::new(None),
            failures: RefCell::default(),
            team,
            read: Cell::new(mailbox.sent()),
            read_before: Cell::new(mailbox.sent()),
        }
    }

    #[inline(always)]
    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Adds a coroutine, which is ready.
    pub(crate) fn spawn(
        &self,
        about: About,
        body: Body,
        hint: Hint,
        waited_for_by: Arc<dyn Adoption>,
    ) -> Result<Co, SpawnError> {
        let Some((co, task)) = self.tasks.add(about, body, waited_for_by.clone()) else {
            return Err(SpawnError::Full { limit: crate::co::SLOTS });
        };
        self.count(|n| n.spawned += 1);
        let (unparked, cancelled) = waited_for_by.adopted(co);
        task.permit.set(unparked);
        if cancelled {
            task.exit.set(Exit::Asked { as_: Outcome::Exited, raised: 0 });
        }
        self.make_ready(co, task, Why::Spawned, hint);
        Ok(co)
    }

    /// Takes work that was spawned elsewhere.
    pub(crate) fn adopt_work(&self, work: Work) {
        let Work { about, hint, body, adoption } = work;
        // If the core is full, the body is dropped, by which whoever waits for it learns.
        if let Err(error) = self.spawn(about, body.into(), hint, adoption) {
            eprintln!("leno: a coroutine was dropped: {error}");
        }
    }

    #[inline(always)]
    fn make_ready(&self, co: Co, task: &Task, why: Why, hint: Hint) {
        if let State::Parked(reason) = task.state() {
            self.count_parked(reason, -1);
        }
        task.become_(State::Ready);
        self.ready.set(self.ready.get() + 1);
        let mut queue = self.queue.borrow_mut();
        if let Queue::Fifo(_) = *queue {
            return queue.ready(co, why, hint, |_, _| unreachable!("first come, first served"));
        }
        let about = task.about.borrow();
        queue.ready(co, why, hint, |why, hint| Ready {
            co,
            name: &about.name,
            why,
            hint,
            priority: about.priority,
            deadline: about.deadline,
            now: self.roughly_now(),
        });
    }

    /// Gives a coroutine of this core its permit: it goes on now, or does not park next time.
    #[inline(always)]
    pub(crate) fn unpark(&self, co: Co, why: Why) {
        let Some(task) = self.tasks.get(co) else { return };
        match task.state() {
            State::Parked(_) => self.make_ready(co, task, why, Hint::Back),
            State::Finished(_) => {}
            _ => task.permit.set(true),
        }
    }

    /// Makes a coroutine of this core exit, unless it is doing so already. Returns whether it was
    /// alive.
    pub(crate) fn cancel(&self, co: Co, as_: Outcome) -> bool {
        let Some(task) = self.tasks.get(co) else { return false };
        if task.exit.get() == Exit::No {
            task.exit.set(Exit::Asked { as_, raised: 0 });
            if matches!(task.state(), State::Parked(_)) && task.masked.get() == 0 {
                self.make_ready(co, task, Why::Exit, Hint::Back);
            }
        }
        true
    }

    /// Parks the running coroutine until it is unparked or is to exit.
    #[inline(always)]
    pub(crate) fn park(&self, inside: &Inside<'_>, reason: Reason) -> Wake {
        let task = inside.task;
        if let Some(wake) = may_not_park(inside) {
            return wake;
        }
        task.become_(State::Parked(reason));
        self.count_parked(reason, 1);
        inside.leave();
        wake_of(task)
    }

    /// The same until `deadline` at most.
    pub(crate) fn park_until(&self, inside: &Inside<'_>, reason: Reason, deadline: Time) -> Wake {
        if deadline <= self.platform.now() {
            return may_not_park(inside).unwrap_or(Wake::TimedOut);
        }
        let key = self.arm(deadline, inside.co);
        let wake = self.park(inside, reason);
        let fired = !self.disarm(key);
        if fired && wake == Wake::Unparked { Wake::TimedOut } else { wake }
    }

    /// Lets others have their turn first.
    #[inline(always)]
    pub(crate) fn yield_now(&self, inside: &Inside<'_>) -> Wake {
        let task = inside.task;
        if is_to_exit(task) || !inside.can_leave() {
            return Wake::Exit;
        }
        self.make_ready(inside.co, task, Why::Yielded, Hint::Back);
        inside.leave();
        wake_of(task)
    }

    /// Unparks a coroutine at a certain time, unless the timer is removed before.
    pub(crate) fn arm(&self, when: Time, co: Co) -> TimerKey {
        self.timers.borrow_mut().insert(when, co)
    }

    /// Removes a timer; whether it was still armed.
    pub(crate) fn disarm(&self, key: TimerKey) -> bool {
        self.timers.borrow_mut().remove(key).is_some()
    }

    /// Whether user code decides.
    pub(crate) fn has_policy(&self) -> bool {
        matches!(*self.queue.borrow(), Queue::Policy(_))
    }

    /// Answers a choice that the rules leave open.
    pub(crate) fn choose(&self, choice: &Choice<'_>) -> usize {
        self.queue.borrow_mut().choose(choice)
    }
}

#[inline(always)]
fn is_to_exit(task: &Task) -> bool {
    task.exit.get() != Exit::No && task.masked.get() == 0
}

/// What parking gives at once.
#[inline(always)]
fn may_not_park(inside: &Inside<'_>) -> Option<Wake> {
    let task = inside.task;
    if is_to_exit(task) || !inside.can_leave() {
        return Some(Wake::Exit);
    }
    task.permit.replace(false).then_some(Wake::Unparked)
}

#[inline(always)]
fn wake_of(task: &Task) -> Wake {
    if is_to_exit(task) { Wake::Exit } else { Wake::Unparked }
}

impl Drop for Core {
    fn drop(&mut self) {
        mailbox::close(self.mailbox, self.tasks.unused_generation());
    }
}
