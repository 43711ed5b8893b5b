//! The helm of a system without a home core: who has it *steers*, that is, schedules its coroutines and
//! polls them, on its own thread.
//!
//! # Protocol
//! ```text
//!   call      C1  locked: perform the operation; if somebody is ready and nobody steers, take the helm
//!             C2  if taken: steer until answered
//!             C3  locked: if somebody is ready and nobody steers, take the helm, go to C2
//!             C4  if not answered: stand in the call's line; look, locked, whether C3 would take the helm
//!             C5  if it would not, and it is not answered: park; leave the line; go to C3, whatever has woken it
//!   steer     S1  locked: schedule; if nobody is ready, leave the helm, done
//!             S2  poll, not locked
//!             S3  locked: perform what has ended the turn; put the body back; if answered, leave the helm, and hand over; else go to S1
//!   hand over H1  locked, the helm is free: if nobody is ready, done
//!             H2  chooses somebody who blocks until its call is answered, if there is one; else takes the helm for a
//!                 helper
//!             H3  not locked: wakes it if it stands in its call's line, else it will look; or starts the helper,
//!                 which steers until nobody is ready
//!   kick, withdrawal, a body's waker: perform the operation, locked; hand over, if nobody steers
//! ```
//! What must not be lost: somebody who is ready. Whenever the lock is free and somebody is ready, then
//! somebody steers, or a caller chosen at H2 has not looked since. That caller looks (C3 or C4),
//! unless it was answered before: then another one has taken the helm since, and has the duty. One that
//! gives up withdraws, and hands over again. Wake-ups are permits, so one between C4 and C5 is not lost; H3 and C4 use the line under its lock, so
//! either H3 finds it there, or C4 looks after H2.
//! Futures that call are not woken at H2: nobody knows whether they are ever polled again.
//!
//! Only those who call run coroutines, while they wait, and nobody runs any after its answer is there:
//! somebody who kicks, or whose answer has come, may hold a lock that the next body takes.
//!
//! A system that has ended is *swept* by the thread that leaves the helm last, or, if nobody has it, by the one that ends
//! the system: its bodies are dropped. Rejected: to wait until they are. A body whose turn it is may wait for the code that
//! drops the system: in a coroutine that runs on top of it, on a thread whose end it awaits, in a turn of another system.
//!
//! Rejected: to go on steering for others after the own answer is there saves wake-ups when many call, but
//! keeps callers from what they hold, and from returning; a queue of threads that wait for the helm is one
//! more thing to keep in step, where the calls themselves are a list of them.
//!
//! A coroutine of the kernel that steers may be cancelled meanwhile. The exit is raised where code of users waits: in a body,
//! which has ended then, or in what is called between turns. It is kept until the helm is left and handed over, and goes on
//! after that; the system and its other coroutines go on, too.

use core::task::{Context, Poll};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::world;
use leno_kernel::{Time, help, now};

use crate::call::AnyCall;
use crate::shared::{Shared, raise};
use crate::table::{Ending, Id, Leave, Next, Stackless, Table};
use crate::turn::{self, Ends, Served};

/// Wakes a body that waits for something outside.
struct Rouser {
    system: Weak<Shared>,
    id: Id,
}

impl Wake for Rouser {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(shared) = self.system.upgrade() {
            shared.operate_from_outside(|table| table.woken(self.id));
        }
    }
}

/// What wakes the body of this coroutine.
pub(crate) fn waker(shared: &Arc<Shared>, id: Id) -> Waker {
    Waker::from(Arc::new(Rouser { system: Arc::downgrade(shared), id }))
}

/// Stops the system if whoever steers unwinds, because a policy has panicked or its world ends: who
/// waits is told.
struct Guard<'a> {
    shared: &'a Arc<Shared>,
    is_armed: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            self.shared.operate(Table::stop);
            // Its thread unwinds already.
            drop(sweep(self.shared));
        }
    }
}

/// What comes next for whoever steers.
enum Step {
    Next(Next),
    /// Others may do something first.
    Again,
    /// The helm is left, and others have it, or nobody needs it.
    Left,
    /// A helper has it.
    Helper,
    /// The system has ended.
    Stopped,
}

/// C2: steers until `is_settled`, `limit`, or nobody is ready. Whoever calls this has the helm, and has it
/// no longer afterwards; it has said so by [`turn::steers`] before it took the helm. `next` is what was scheduled
/// already. Returns an exit that was raised meanwhile, at which it ends, too.
#[must_use = "an exit goes on: see `raise`"]
pub(crate) fn steer(
    shared: &Arc<Shared>,
    mut next: Option<Next>,
    limit: Option<Time>,
    is_settled: impl Fn() -> bool,
) -> Option<Panic> {
    let mut guard = Guard { shared, is_armed: true };
    let mut exit = None;
    loop {
        // What it has served is dropped when the turn is performed: that may be code of users.
        let mut served = None;
        let back = match next.take() {
            Some(Next::Poll { id, stackless, turn, call }) => {
                let turn = turn::begin(shared, id, turn, call, Some(&stackless.waker));
                let body = poll(shared, id, stackless, &turn, &mut exit);
                let (leave, call) = turn.finish();
                served = Some(call);
                Some((id, body, leave))
            }
            Some(Next::Run { .. }) => unreachable!("whoever has a stack has a home core"),
            Some(Next::Ask(question)) => {
                let (scheduled, raised) = shared.answer(question);
                keep(&mut exit, raised);
                next = Some(scheduled);
                continue;
            }
            Some(Next::InVain | Next::Nobody) => None,
            None => {
                shared.point_if_ready();
                None
            }
        };
        let is_late = limit.is_some_and(|limit| now() >= limit);
        let is_done = || exit.is_some() || is_late || is_settled();
        let (step, raised) = shared.operate_while_steering(|table| step(table, back, is_done));
        keep(&mut exit, raised);
        match step {
            Step::Next(scheduled) => next = Some(scheduled),
            Step::Again => {}
            Step::Left => guard.is_armed = false,
            Step::Helper => {
                send_helper(shared);
                guard.is_armed = false;
            }
            Step::Stopped => {
                guard.is_armed = false;
                keep(&mut exit, sweep(shared));
            }
        }
        keep(&mut exit, served.and_then(Served::dispose));
        if !guard.is_armed {
            return exit;
        }
    }
}

/// Keeps an exit until the helm is left.
fn keep(exit: &mut Option<Panic>, raised: Option<Panic>) {
    *exit = user::first(exit.take(), raised);
}

/// S3 and S1.
fn step(
    table: &mut Table,
    back: Option<(Id, Option<Stackless>, Option<Leave>)>,
    is_done: impl FnOnce() -> bool,
) -> Step {
    let was_turn = back.is_some();
    if let Some((id, mut stackless, leave)) = back {
        if leave == Some(Leave::Detach)
            && let Some(body) = stackless.take()
        {
            stackless = table.detach_directly(id, body);
            if stackless.is_none() {
                return Step::Left;
            }
        }
        if let Some(leave) = leave {
            table.leave(id, leave);
        }
        table.polled(id, stackless);
    }
    if table.is_stopped() {
        return Step::Stopped;
    }
    if is_done() {
        table.leave_helm();
        return if table.hand_over() { Step::Helper } else { Step::Left };
    }
    if was_turn && table.is_ready() && world::is_here() {
        return Step::Again;
    }
    match table.schedule() {
        Next::Nobody => {
            table.leave_helm();
            Step::Left
        }
        next => Step::Next(next),
    }
}

/// Performs S2, one turn. Gives the body back, unless it has ended. An exit of the one who steers has ended it, and is
/// kept.
fn poll(
    shared: &Arc<Shared>,
    id: Id,
    mut stackless: Stackless,
    turn: &Ends,
    exit: &mut Option<Panic>,
) -> Option<Stackless> {
    if let Some(inner) = stackless.inner.take()
        && let Err(panic) = user::call(|| inner.wake())
    {
        keep(exit, user::report("a waker", panic));
    }
    let polled = user::call(|| {
        let mut context = Context::from_waker(&stackless.waker);
        stackless.future.as_mut().poll(&mut context)
    });
    let panic = match polled {
        Ok(Poll::Pending) => return Some(stackless),
        // It has told the table itself.
        Ok(Poll::Ready(())) => return None,
        Err(panic) => panic,
    };
    keep(exit, drop_body(stackless));
    if let Some(leave) = turn.take_leave() {
        keep(exit, shared.operate_while_steering(|table| table.leave(id, leave)).1);
    }
    turn.mark_over();
    let ending = if user::is_exit(&panic) {
        keep(exit, Some(panic));
        Ending::Exited
    } else {
        Ending::Panicked(panic.into_payload())
    };
    keep(exit, end(shared, id, ending));
    None
}

/// Ends a coroutine whose body has not come to its end. Returns an exit that this has raised.
fn end(shared: &Arc<Shared>, id: Id, ending: Ending) -> Option<Panic> {
    let mut nothing = None::<fn(&dyn AnyCall)>;
    let (ended, exit) = shared.operate_while_steering(|table| table.end(id, ending, &mut nothing));
    user::first(exit, ended.and_then(|failure| shared.report(failure)))
}

/// Drops a body; if a destructor panics, its coroutine has ended all the same. Returns an exit that this has raised.
fn drop_body(stackless: Stackless) -> Option<Panic> {
    user::try_dispose(stackless).err().filter(user::is_exit)
}

/// H3: a helper steers, to whom the helm was given.
pub(crate) fn send_helper(shared: &Arc<Shared>) {
    let shared = shared.clone();
    help(move || {
        let _steers = turn::steers(&shared);
        raise(steer(&shared, None, None, || false));
    });
}

/// Drops the bodies of a system that has ended, and leaves the helm, which the caller has. Returns an exit that was
/// raised meanwhile.
#[must_use = "an exit goes on: see `raise`"]
pub(crate) fn sweep(shared: &Arc<Shared>) -> Option<Panic> {
    let _steers = turn::steers(shared);
    let mut exit = None;
    loop {
        let (body, raised) = shared.operate_while_steering(|table| {
            let body = table.take_body();
            if body.is_none() {
                table.leave_helm();
            }
            body
        });
        keep(&mut exit, raised);
        let Some((id, stackless)) = body else { return exit };
        // Its destructors are its own doing, too; a turn it is not.
        let turn = turn::begin(shared, id, 0, None, None);
        keep(&mut exit, drop_body(stackless));
        drop(turn);
        keep(&mut exit, end(shared, id, Ending::Exited));
    }
}

/// Ends a system and drops its bodies. If somebody steers it, they are dropped there, when the turn has ended. This does
/// not wait for that: the body that has the turn may wait for the calling code.
pub(crate) fn stop_and_sweep(shared: &Arc<Shared>) {
    let (is_free, exit) = shared.operate_while_steering(|table| {
        table.stop();
        !core::mem::replace(&mut table.is_steered, true)
    });
    let raised = if is_free { sweep(shared) } else { None };
    raise(user::first(exit, raised));
}
