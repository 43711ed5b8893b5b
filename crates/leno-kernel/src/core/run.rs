//! The loop of a core: mail, timers, whoever is ready.

use core::ptr::NonNull;
use core::task::{Context, Poll};
use core::time::Duration;

use super::queue::Queue;
use super::{Body, Core, Exit, Membership, Task};
use crate::mailbox::Message;
use crate::policy::{Candidate, Choice, ChoiceKind, Hint, Why};
use crate::raw::entered::Running;
use crate::raw::stack::Left;
use crate::{Co, Outcome, Reason, State, Time, system};

/// How many turns are taken between two looks at the mail and the clock.
const TURNS: usize = 64;
/// Queues longer than this are loaded early.
const FITS_CACHE: usize = 512;
/// How many turns before its own a coroutine is loaded; what it knows of it, twice as many.
const AHEAD: usize = 8;
/// How long a core listens before it sleeps.
const SPIN: Duration = Duration::from_micros(20);

/// Why the loop has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What was waited for has happened.
    Done,
    /// Nobody can ever run again.
    Quiescent,
}

impl Core {
    /// Runs whoever is ready until `done`, or until nobody can ever run again.
    pub(crate) fn run_until(&self, done: impl Fn(&Core) -> bool) -> Stop {
        loop {
            self.read_mail();
            self.fire_timers();
            self.adopt();
            for _ in 0..TURNS {
                if done(self) {
                    return Stop::Done;
                }
                let Some(co) = self.pick_or_adopt() else { break };
                self.take_turn(co);
            }
            if self.is_busy() {
                continue;
            }
            if done(self) {
                return Stop::Done;
            }
            let deadline = self.timers.borrow().next();
            if let Some(Membership { team, place }) = &self.team {
                if !team.rob(*place, self) {
                    team.rest(*place, || self.left(), || self.idle(deadline));
                }
                continue;
            }
            if deadline.is_none() && !self.is_open() {
                // A message may have been on its way; whoever sends one later is not waited for.
                if !self.mailbox.bell.is_rung() {
                    return Stop::Quiescent;
                }
                continue;
            }
            self.idle(deadline);
        }
    }

    /// Does nothing, until the bell or the deadline.
    fn idle(&self, deadline: Option<Time>) {
        if !self.spin() {
            self.platform.idle(&self.mailbox.bell, deadline);
        }
        // Idling may have used up the ring that announced them.
        self.read_messages();
    }

    /// Listens for a moment before it sleeps, if other threads have written since it last did: one who
    /// writes often is woken without the machine's help. Whether the bell was rung.
    fn spin(&self) -> bool {
        let read = self.read.get();
        if self.read_before.replace(read) == read || self.platform.is_virtual() {
            return false;
        }
        let start = std::time::Instant::now();
        while start.elapsed() < SPIN {
            for _ in 0..64 {
                if self.mailbox.bell.take() {
                    return true;
                }
                core::hint::spin_loop();
            }
        }
        false
    }

    /// Takes the oldest of those that were spawned and have not started; what it does not take, others
    /// can. With a policy all, so that it can decide.
    fn adopt(&self) {
        let Some(Membership { team, place }) = &self.team else { return };
        let limit = match *self.queue.borrow() {
            Queue::Fifo(_) => 1,
            Queue::Policy(_) => usize::MAX,
        };
        team.take(*place, limit, |work| self.adopt_work(work));
        // Also those that were spawned since the system began to stop.
        if team.is_stopping() {
            self.cancel_all();
        }
    }

    #[inline(always)]
    fn pick_or_adopt(&self) -> Option<Co> {
        if self.ready.get() == 0
            && let Some(Membership { team, place }) = &self.team
            && let Some(work) = team.take_newest(*place)
        {
            self.adopt_work(work);
        }
        self.pick()
    }

    /// Who runs next. In a long queue those who run soon are in no cache: starts loading them.
    #[inline(always)]
    fn pick(&self) -> Option<Co> {
        let mut queue = self.queue.borrow_mut();
        let next = queue.pick();
        if self.ready.get() > FITS_CACHE {
            if let Some(soon) = queue.peek(2 * AHEAD) {
                self.tasks.prefetch(soon);
            }
            if let Some(task) = queue.peek(AHEAD).and_then(|soon| self.tasks.get(soon)) {
                task.seat.prefetch();
            }
        }
        next
    }

    /// What time it is, for whoever does not need to know exactly.
    pub(crate) fn roughly_now(&self) -> Time {
        self.now.get()
    }

    fn look_at_clock(&self) -> Time {
        let now = self.platform.now();
        self.now.set(now);
        now
    }

    /// Whether someone is ready, mail has come, or something has not started.
    fn is_busy(&self) -> bool {
        self.mailbox.bell.is_rung()
            || self.ready.get() > 0
            || self.team.as_ref().is_some_and(|own| own.team.has_work(own.place))
    }

    /// What others may know of it while it rests.
    fn left(&self) -> system::Left {
        system::Left {
            live: self.tasks.live(),
            open: self.timers.borrow().next().is_some() || self.is_open(),
            read: self.read.get(),
        }
    }

    /// Makes all coroutines exit.
    pub(crate) fn cancel_all(&self) {
        let all: Vec<_> = self.tasks.iter().map(|(co, _)| co).collect();
        for co in all {
            self.cancel(co, Outcome::Exited);
        }
    }

    /// Removes all who are parked, because nobody can ever wake them.
    pub(crate) fn reap(&self) {
        let all: Vec<_> = self.tasks.iter().map(|(co, task)| (co, task.state())).collect();
        for (co, state) in all {
            let State::Parked(reason) = state else { continue };
            self.cancel(co, reason.when_nobody_comes());
        }
    }

    /// Whether someone waits for what the outside may still do.
    fn is_open(&self) -> bool {
        let held = |(_, task): (Co, &Task)| {
            task.state() == State::Parked(Reason::Future) && task.is_waker_held()
        };
        self.open.get() > 0 || self.futures.get() > 0 && self.tasks.iter().any(held)
    }

    /// Counts a coroutine that parks (`1`) or no longer does (`-1`) for this reason.
    #[inline(always)]
    pub(super) fn count_parked(&self, reason: Reason, by: isize) {
        let count = match reason {
            Reason::Future => &self.futures,
            reason if reason.is_open() => &self.open,
            _ => return,
        };
        count.set(count.get().wrapping_add_signed(by));
    }

    /// Does what other threads have asked for.
    pub(crate) fn read_mail(&self) {
        if self.mailbox.bell.take() {
            self.read_messages();
        }
    }

    fn read_messages(&self) {
        let mut messages = self.reading.take();
        self.mailbox.receive(&mut messages);
        self.read.set(self.read.get() + messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Unpark(co) => self.unpark(co, Why::Unparked),
                Message::Cancel(co) => drop(self.cancel(co, Outcome::Exited)),
                Message::Run(f) => f(self),
            }
        }
        self.reading.replace(messages);
    }

    fn fire_timers(&self) {
        if self.timers.borrow().is_empty() {
            self.look_at_clock();
            return;
        }
        let now = self.look_at_clock();
        self.timers.borrow_mut().advance(now);
        loop {
            let due = self.take_due();
            let Some((_, co)) = due else { return };
            self.unpark(co, Why::Time);
        }
    }

    /// The timer that fires next; which of those that are due at the same time, a policy says.
    fn take_due(&self) -> Option<(Time, Co)> {
        let mut timers = self.timers.borrow_mut();
        let mut queue = self.queue.borrow_mut();
        if let Queue::Fifo(_) = *queue {
            return timers.pop_due();
        }
        let ties: Vec<_> = timers.ties().map(|(_, co)| Candidate::Co(*co)).collect();
        if ties.len() < 2 {
            return timers.pop_due();
        }
        timers.pop_due_nth(queue.choose(&Choice::new(ChoiceKind::Timer, None, &ties)))
    }

    /// Runs a ready coroutine until it parks, yields or ends.
    #[inline(always)]
    fn take_turn(&self, co: Co) {
        self.ready.set(self.ready.get() - 1);
        let Some(task) = self.tasks.get(co) else {
            debug_assert!(false, "a policy gave back {co}, which is not ready");
            return;
        };
        task.become_(State::Running);
        if task.seat.is_free() { self.first_turn(co, task) } else { self.resume(co, task) }
    }

    #[inline(always)]
    fn resume(&self, co: Co, task: &Task) {
        self.entry.running.set(Running::Stack(task.seat.control(), co, NonNull::from_ref(task)));
        let left = task.seat.resume();
        self.entry.running.set(Running::Nobody);
        if left == Left::Ended {
            self.ended(co, task);
        } else if task.exit.get() == Exit::GivenUp {
            task.seat.give_up();
            self.given_up(co, task);
        }
    }

    /// A turn of one that has no stack, or not yet.
    #[inline(never)]
    fn first_turn(&self, co: Co, task: &Task) {
        match task.body.take() {
            Body::Closure(closure) => self.start(co, task, closure),
            Body::Future(future) => self.poll(co, task, future),
            Body::None => unreachable!("the body of a ready coroutine is in its slot"),
        }
    }

    #[cold]
    fn given_up(&self, co: Co, task: &Task) {
        self.count(|n| n.given_up += 1);
        task.abandon();
        self.ended(co, task);
    }

    /// The first turn of a body that needs a stack.
    #[inline(never)]
    fn start(&self, co: Co, task: &Task, closure: Box<dyn FnOnce()>) {
        if task.exit.get() != Exit::No {
            return self.drop_body(co, task, Body::Closure(closure));
        }
        let taken = task.seat.take(&task.about.borrow(), closure);
        match taken {
            Ok(()) => self.resume(co, task),
            Err((error, closure)) => self.no_stack(co, task, &error, closure),
        }
    }

    /// There is no stack: it waits until one of those who have one has ended, if there is any.
    #[cold]
    fn no_stack(
        &self,
        co: Co,
        task: &Task,
        error: &leno_context::stack::StackError,
        closure: Box<dyn FnOnce()>,
    ) {
        let other = self.tasks.iter().any(|(_, task)| !task.seat.is_free());
        if other {
            task.body.set(Body::Closure(closure));
            return self.make_ready(co, task, Why::Yielded, Hint::Back);
        }
        let about = task.about.borrow();
        eprintln!(
            "leno: coroutine {} (spawned at {}) cannot start: {error}",
            about.name.or_id(co.bits()),
            about.site,
        );
        drop(about);
        self.drop_body(co, task, Body::Closure(closure));
    }

    #[inline(never)]
    fn poll(&self, co: Co, task: &Task, mut future: core::pin::Pin<Box<dyn Future<Output = ()>>>) {
        if task.exit.get() != Exit::No {
            return self.drop_body(co, task, Body::Future(future));
        }
        task.permit.set(false);
        let waker = task.waker(co);
        self.entry.running.set(Running::Future(co));
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        self.entry.running.set(Running::Nobody);
        match polled {
            Poll::Ready(()) => {
                drop(future);
                self.ended(co, task);
            }
            Poll::Pending => {
                task.body.set(Body::Future(future));
                task.become_(State::Parked(Reason::Future));
                self.count_parked(Reason::Future, 1);
                if task.permit.replace(false) || task.exit.get() != Exit::No {
                    self.make_ready(co, task, Why::Unparked, Hint::Back);
                }
            }
        }
    }

    /// Ends a coroutine by dropping its body; whoever waits for it learns by that.
    pub(super) fn drop_body(&self, co: Co, task: &Task, body: Body) {
        self.entry.running.set(Running::Future(co));
        drop(body);
        self.entry.running.set(Running::Nobody);
        self.ended(co, task);
    }

    /// A coroutine has ended; its body has told [`Core::set_outcome`] how, unless it was dropped.
    fn ended(&self, co: Co, task: &Task) {
        let outcome = self.outcome.take().unwrap_or_else(|| task.exit.get().outcome());
        self.count(|n| match outcome {
            Outcome::Returned => n.returned += 1,
            Outcome::Panicked => n.panicked += 1,
            Outcome::Exited => n.exited += 1,
            Outcome::Starved | Outcome::Blockaged => n.removed += 1,
        });
        task.become_(State::Finished(outcome));
        self.tasks.remove(co);
    }
}
