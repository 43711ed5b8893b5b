//! Running a coroutine now, for whoever asked, and where those go that are run so.
//!
//! Invariant: a coroutine that is ready is in the core's queue, in the inbox of its sink, or in the
//! hands of whoever took it from there. When the sink goes, the last two become the first.

use std::rc::Rc;

use leno_coroutine::floor;

use super::{Core, Exit, Stop, Task};
use crate::attach::{AttachError, Back, Inbox};
use crate::log::What;
use crate::policy::{Hint, Why};
use crate::raw::entered::{self, Running};
use crate::{Co, Outcome, State};

/// Lets whoever ran before go on, also when what runs on top of it unwinds.
struct Under<'a> {
    core: &'a Core,
    running: Running,
    hands: usize,
    outcome: Option<Outcome>,
    caller: Option<&'a Task>,
}

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.core.turns.go_on(self.hands);
        self.core.endings.set(self.outcome);
        self.core.entry.running.set(self.running);
        if let (Some(caller), Some(co)) = (self.caller, self.running.co()) {
            self.core.observation.window().runs(co);
            caller.attaches.set(false);
            caller.become_(State::Running);
            self.core.log(Some(co), || What::Runs);
        }
    }
}

impl Core {
    /// Runs a coroutine of this core now, on top of whoever calls, until it parks, yields or ends.
    pub(crate) fn attach(&self, co: Co) -> Result<Back, AttachError> {
        let Some(task) = self.tasks.get(co) else {
            let here = co.core() == self.number();
            return Err(if here { AttachError::Ended(co) } else { AttachError::Elsewhere(co) });
        };
        match task.state() {
            State::Ready => self.take_out(co, task),
            State::New => task.become_(State::Ready),
            state => return Err(AttachError::NotReady(co, state)),
        }
        self.turns.attach();
        Ok(self.run_attached(co, task))
    }

    /// Runs a coroutine that was just spawned.
    pub(super) fn run_new(&self, co: Co, task: &Task) -> Back {
        task.become_(State::Ready);
        if self.entry.is_entered() {
            return self.run_attached(co, task);
        }
        entered::enter(self, || self.run_attached(co, task))
    }

    fn run_attached(&self, co: Co, task: &Task) -> Back {
        self.on_top(co, || self.run(co, task));
        // Its slot may be another's by now: dropping its result is user code, which may spawn.
        let Some(task) = self.tasks.get(co) else { return Back::Ended(self.endings.last()) };
        match task.state() {
            State::Finished(outcome) => Back::Ended(outcome),
            State::Parked(reason) => Back::Parked(reason),
            State::Calling(callee) => Back::Called(callee),
            _ => Back::Yielded,
        }
    }

    /// Calls `run`, a turn of `co`, on top of whoever runs now.
    pub(super) fn on_top(&self, co: Co, run: impl FnOnce()) {
        let running = self.entry.running.get();
        let caller = running.co().and_then(|caller| self.tasks.get(caller));
        if let Some(caller) = caller {
            self.log(running.co(), || What::Calls(co));
            caller.attaches.set(true);
            caller.become_(State::Calling(co));
        }
        // Its turn ends here, and not with someone else's.
        let hands = self.turns.hold();
        let outcome = self.endings.take();
        let under = Under { core: self, running, hands, outcome, caller };
        // Whoever runs on top comes back here: neither it nor what it calls leaves a generator, or a member
        // of a ring, in which the calling code is.
        floor::hold(run);
        drop(under);
    }

    /// Runs the core's loop on top of whoever runs now, which waits for `co`, until `done`.
    pub(crate) fn run_on_top(&self, co: Co, done: impl Fn(&Core) -> bool) -> Stop {
        let mut stop = Stop::Done;
        self.on_top(co, || {
            self.entry.running.set(Running::Nobody);
            stop = self.run_until(done);
        });
        stop
    }

    /// Takes a coroutine that is ready out of where it waits for its turn.
    fn take_out(&self, co: Co, task: &Task) {
        match &*task.sink.borrow() {
            Some(inbox) if task.has_sink.get() => inbox.forget(co),
            _ => self.ready.forget(co),
        }
    }

    /// Makes a coroutine of this core go to this inbox from now on.
    pub(crate) fn move_to_sink(&self, co: Co, inbox: &Rc<Inbox>) -> Result<(), AttachError> {
        let Some(task) = self.tasks.get(co) else {
            let here = co.core() == self.number();
            return Err(if here { AttachError::Ended(co) } else { AttachError::Elsewhere(co) });
        };
        if task.exit.get() != Exit::No {
            return Ok(());
        }
        let is_ready = task.state() == State::Ready;
        if is_ready {
            self.take_out(co, task);
        }
        if task.has_sink.get() {
            self.leave_sink(task);
        }
        self.enter_sink(task, inbox);
        if is_ready {
            self.wake_later(inbox.add(co));
        }
        Ok(())
    }

    fn enter_sink(&self, task: &Task, inbox: &Rc<Inbox>) {
        inbox.join();
        task.sink.replace(Some(inbox.clone()));
        task.has_sink.set(true);
    }

    /// Hands a coroutine that has become ready to its sink; whether that still takes it.
    #[cold]
    pub(super) fn give_to_sink(&self, co: Co, task: &Task) -> bool {
        let inbox = task.sink.borrow().clone();
        let Some(inbox) = inbox.filter(|inbox| inbox.is_open() && task.exit.get() == Exit::No)
        else {
            self.leave_sink(task);
            return false;
        };
        self.wake_later(inbox.add(co));
        true
    }

    /// Makes a coroutine that is ready in its sink the core's own.
    pub(super) fn take_from_sink(&self, co: Co, task: &Task) {
        self.take_out(co, task);
        self.leave_sink(task);
        self.enqueue(co, Why::Exit, Hint::Back);
    }

    /// Makes a coroutine the core's own.
    pub(super) fn leave_sink(&self, task: &Task) {
        task.has_sink.set(false);
        if let Some(inbox) = task.sink.take() {
            self.wake_later(inbox.leave());
        }
    }

    /// Makes all coroutines the core's own whose sink has gone.
    #[cold]
    pub(super) fn take_orphans(&self) {
        let gone = |task: &Task| {
            task.has_sink.get() && task.sink.borrow().as_ref().is_some_and(|inbox| !inbox.is_open())
        };
        for (co, task) in self.tasks.iter().filter(|(_, task)| gone(task)) {
            if task.state() == State::Ready {
                self.take_from_sink(co, task);
            } else {
                self.leave_sink(task);
            }
        }
    }
}
