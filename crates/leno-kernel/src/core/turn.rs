//! A turn: from being picked to parking, yielding or ending.
//!
//! Turns begin and end in the core's loop. Where nothing has to be looked at between two of them, the
//! one that leaves hands on to the next itself: one switch instead of two. The loop then sees the
//! second come back from where it sent the first ([`super::turns`] counts how often in a row).

use core::task::{Context, Poll};
use std::sync::Arc;

use super::{Body, Core, Exit, Task};
use crate::join::Adoption;
use crate::log::What;
use crate::policy::{Hint, Why};
use crate::raw::closure::Closure;
use crate::raw::entered::{Inside, Running};
use crate::raw::stack::{Code, Left};
use crate::user::{self, is_exit};
use crate::{Co, Name, Outcome, Reason, State};

impl Core {
    /// Runs a ready coroutine until it parks, yields or ends.
    #[inline(always)]
    pub(super) fn take_turn(&self, co: Co) {
        self.ready.begin_turn();
        let Some(task) = self.tasks.get(co) else { return self.take_turn_of_movable(co) };
        self.run(co, task);
        self.check();
    }

    /// Runs a coroutine that is ready and in no queue until it parks, yields or ends.
    #[inline(always)]
    pub(super) fn run(&self, co: Co, task: &Task) {
        self.log(Some(co), || What::Runs);
        task.become_(State::Running);
        self.check_picked(co);
        if task.seat.is_free() { self.first_turn(co, task) } else { self.resume(co, task) }
    }

    #[inline(always)]
    fn resume(&self, co: Co, task: &Task) {
        self.observation.window().runs(co);
        self.entry.runs(co, task);
        let code = task.seat.resume();
        self.entry.with_running(|co, task| self.came_back(co, task, code));
    }

    /// The end of a turn of one with a stack, which may have been handed on.
    #[inline(always)]
    fn came_back(&self, co: Co, task: &Task, code: Code) {
        if task.seat.left(code) == Left::Ended {
            self.ended(co, task);
        } else if task.exit.get() == Exit::GivenUp {
            task.seat.give_up();
            self.given_up(co, task);
        }
    }

    /// The running coroutine has parked or yielded: whoever is next goes on. Returns when it is its turn
    /// again.
    #[inline(always)]
    pub(super) fn leave(&self, inside: &Inside<'_>) {
        if self.turns.may_hand_on()
            && let Some(next) = self.next_at_hand(inside.co)
        {
            self.hand_on(inside, next);
        } else {
            inside.leave();
        }
    }

    /// Who would be picked next, if it is another one, with a stack; not if code of a user decides that.
    #[inline(always)]
    fn next_at_hand(&self, own: Co) -> Option<&Task> {
        let co = self.ready.first().filter(|co| *co != own)?;
        let task = self.tasks.get(co)?;
        let is_at_hand = !task.seat.is_free() && !std::thread::panicking();
        is_at_hand.then_some(task)
    }

    /// Ends the turn of the running coroutine and begins that of the next one, without the loop.
    #[inline(always)]
    fn hand_on(&self, inside: &Inside<'_>, task: &Task) {
        self.turns.hand_on();
        self.entry.running.set(Running::Nobody);
        self.check();
        let Some(co) = self.pick() else { return inside.leave() };
        self.ready.begin_turn();
        self.log(Some(co), || What::Runs);
        task.become_(State::Running);
        self.check_picked(co);
        self.observation.window().runs(co);
        self.entry.runs(co, task);
        inside.hand_on(task);
    }

    /// A turn of one that has no stack, or not yet.
    #[inline(never)]
    fn first_turn(&self, co: Co, task: &Task) {
        self.show(co, task);
        match task.body.take() {
            Body::Closure(closure) => self.start(co, task, closure),
            Body::Future(future) => self.poll(co, task, future),
            Body::None => unreachable!("the body of a ready coroutine is in its slot"),
        }
    }

    /// Lets other threads see who runs, and its name.
    fn show(&self, co: Co, task: &Task) {
        let about = task.about.borrow();
        self.observation.window().write(co, &about.name, about.site);
        self.observation.window().runs(co);
    }

    #[cold]
    fn given_up(&self, co: Co, task: &Task) {
        self.observation.count_given_up();
        // Wakers of those who join it may raise an exit of the code around the loop.
        let (name, abandoned) = (self.name_of(co), user::call(|| task.abandon()));
        self.ended(co, task);
        match abandoned {
            Ok(()) => {}
            Err(panic) if is_exit(&panic) => panic.resume(),
            Err(panic) => self.failed(co, name, panic),
        }
    }

    /// The first turn of a body that needs a stack.
    #[inline(never)]
    fn start(&self, co: Co, task: &Task, closure: Closure<'static>) {
        if task.exit.get() != Exit::No {
            return self.drop_body(co, task, Body::Closure(closure));
        }
        let taken = task.seat.take(&task.about.borrow(), closure);
        match taken {
            Ok(()) => self.resume(co, task),
            Err((error, closure)) => self.no_stack(co, task, &error, closure),
        }
    }

    #[inline(never)]
    fn poll(&self, co: Co, task: &Task, mut future: core::pin::Pin<Box<dyn Future<Output = ()>>>) {
        if task.exit.get() != Exit::No {
            return self.drop_body(co, task, Body::Future(future));
        }
        task.permit.set(false);
        let waker = task.waker(co);
        self.entry.running.set(Running::Future(co));
        let polled = user::call(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
        self.entry.running.set(Running::Nobody);
        match polled {
            Ok(Poll::Ready(())) => self.drop_body(co, task, Body::Future(future)),
            // What its end has called has panicked: it has ended all the same.
            Err(panic) => {
                self.failed(co, self.name_of(co), panic);
                self.drop_body(co, task, Body::Future(future));
            }
            Ok(Poll::Pending) => {
                task.body.set(Body::Future(future));
                self.log(Some(co), || What::Parked(Reason::Future));
                self.set_parked(task, Reason::Future);
                if task.permit.replace(false) || task.exit.get() != Exit::No {
                    self.make_ready(co, task, Why::Unparked, Hint::Back);
                }
            }
        }
    }

    /// Ends a coroutine by dropping its body; whoever waits for it learns by that.
    pub(super) fn drop_body(&self, co: Co, task: &Task, body: Body) {
        let outcome = self.endings.take();
        self.entry.running.set(Running::Future(co));
        if leno_context::is_planted("body-unwinds") {
            drop(body);
            self.entry.running.set(Running::Nobody);
            self.endings.set(outcome);
            return self.ended(co, task);
        }
        let dropped = user::try_dispose(body);
        self.entry.running.set(Running::Nobody);
        self.endings.set(outcome);
        let Err(panic) = dropped else { return self.ended(co, task) };
        if is_exit(&panic) {
            // That of the code around the core's loop.
            self.ended(co, task);
            panic.resume();
        }
        self.endings.set(Some(outcome.unwrap_or(Outcome::Panicked)));
        self.failed(co, self.name_of(co), panic);
        self.ended(co, task);
    }

    /// A coroutine has ended; its body has told [`Core::set_outcome`] how, unless it was dropped.
    fn ended(&self, co: Co, task: &Task) {
        let outcome = self.endings.take().unwrap_or_else(|| task.exit.get().outcome());
        self.count_end(co, outcome);
        task.become_(State::Finished(outcome));
        if task.has_sink.get() {
            self.leave_sink(task);
        }
        let name = task.name_to_blame();
        let result = self.tasks.remove(co);
        self.drop_result(co, name, result);
        self.endings.set_last(outcome);
        self.pass_exit_on();
    }

    /// Drops what is left of a coroutine that has ended and has no slot any more: a result that nobody has
    /// taken, perhaps. It may not park, like a future.
    fn drop_result(&self, co: Co, name: Name, result: Option<Arc<dyn Adoption>>) {
        if leno_context::is_planted("result-unwinds") {
            return drop(result);
        }
        let running = self.entry.running.replace(Running::Future(co));
        let dropped = user::try_dispose(result);
        self.entry.running.set(running);
        match dropped {
            Ok(()) => {}
            // That of the code around the core's loop.
            Err(panic) if is_exit(&panic) => panic.resume(),
            Err(panic) => self.failed(co, name, panic),
        }
    }
}
