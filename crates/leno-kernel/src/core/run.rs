//! The loop of a core: mail, timers, whoever is ready.

use core::task::{Context, Poll};

use super::{Body, Core, Exit, Task};
use crate::mailbox::Message;
use crate::policy::{Hint, Why};
use crate::raw::entered::Running;
use crate::raw::stack::Stack;
use crate::{Co, Outcome, Reason, State, Time};

/// How many turns are taken between two looks at the mail and the clock.
const TURNS: usize = 64;

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
            for _ in 0..TURNS {
                if done(self) {
                    return Stop::Done;
                }
                let next = self.queue.borrow_mut().pick();
                let Some(co) = next else { break };
                self.take_turn(co);
            }
            if self.is_busy() {
                continue;
            }
            if done(self) {
                return Stop::Done;
            }
            let deadline = self.timers.borrow().next();
            if deadline.is_none() && !self.is_open() {
                // A message may have been on its way; whoever sends one later is not waited for.
                if !self.mailbox.bell.is_rung() {
                    return Stop::Quiescent;
                }
                continue;
            }
            self.platform.idle(&self.mailbox.bell, deadline);
            // Idling may have used up the ring that announced them.
            self.read_messages();
        }
    }

    /// Whether someone is ready, or mail has come.
    fn is_busy(&self) -> bool {
        self.mailbox.bell.is_rung() || self.ready.get() > 0
    }

    /// Whether someone waits for what the outside may still do.
    fn is_open(&self) -> bool {
        self.tasks.iter().any(|(_, task)| match task.state() {
            State::Parked(Reason::Future) => task.is_waker_held(),
            State::Parked(reason) => reason.is_open(),
            _ => false,
        })
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
            return;
        }
        let now: Time = self.platform.now();
        self.timers.borrow_mut().advance(now);
        loop {
            let due = self.timers.borrow_mut().pop_due();
            let Some((_, co)) = due else { return };
            self.unpark(co, Why::Time);
        }
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
        match task.body.take() {
            Body::Stack(stack) => self.run_stack(co, task, stack),
            Body::Closure(closure) => self.start(co, task, closure),
            Body::Future(future) => self.poll(co, task, future),
            Body::None => unreachable!("the body of a ready coroutine is in its slot"),
        }
    }

    #[inline(always)]
    fn run_stack(&self, co: Co, task: &Task, stack: Stack) {
        self.entry.running.set(Running::Stack(stack.control(), co));
        let left = stack.resume();
        self.entry.running.set(Running::Nobody);
        match left {
            Some(stack) if task.exit.get() != Exit::GivenUp => task.body.set(Body::Stack(stack)),
            Some(_) => self.given_up(co, task),
            None => self.ended(co, task),
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
        let made = Stack::new(&task.about.borrow(), closure);
        match made {
            Ok(stack) => self.run_stack(co, task, stack),
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
        let other = self.tasks.iter().any(|(other, task)| other != co && task.has_stack());
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
