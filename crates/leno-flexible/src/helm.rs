//! The helm of a system without a home core: who has it *steers*, that is, schedules its coroutines and
//! polls them, on its own thread.
//!
//! # Protocol
//! ```text
//!   call      C1  locked: perform the operation; if somebody is ready and nobody steers, take the helm
//!             C2  if taken: steer until answered
//!             C3  if not answered: leave a waiter with the call, if there is none yet
//!             C4  locked: if somebody is ready and nobody steers, take the helm, go to C2
//!             C5  park, unless answered; go to C4, whoever has woken it
//!   steer     S1  locked: schedule; if nobody is ready, leave the helm, done
//!             S2  poll, not locked
//!             S3  locked: perform what has ended the turn; put the body back; if answered, leave the helm, and hand over; else go to S1
//!   hand over H1  locked, the helm is free: if nobody is ready, done
//!             H2  is somebody before C3, it will look; else has somebody woken who is at C5, if there is one;
//!                 else takes the helm for a helper
//!             H3  not locked: wakes it, or starts the helper, which steers until nobody is ready
//!   kick, withdrawal, a body's waker: perform the operation, locked; hand over, if nobody steers
//! ```
//! What must not be lost: somebody who is ready. Whenever the lock is free and somebody is ready, then
//! somebody steers, or somebody was chosen at H2 who has not looked since. Whoever was chosen looks (C4),
//! unless it was answered before: then another one has taken the helm since, and has the duty. One that
//! gives up withdraws, and hands over again. Wake-ups are permits, so one between C4 and C5 is not lost.
//! Futures that call are not woken at H2: nobody knows whether they are ever polled again.
//!
//! Only those who call run coroutines, while they wait, and nobody runs any after its answer is there:
//! somebody who kicks, or whose answer has come, may hold a lock that the next body takes.
//!
//! A system that has ended is *swept* by whoever leaves the helm last: its bodies are dropped.
//!
//! Rejected: to go on steering for others after the own answer is there saves wake-ups when many call, but
//! keeps callers from what they hold, and from returning; a queue of threads that wait for the helm is one
//! more thing to keep in step, where the calls themselves are a list of them.

use core::task::{Context, Poll};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use leno_context::unwind;
use leno_kernel::{Reason, Time, Waiter, Wake as Parked, can_park, help, now, park, user, world};

use crate::call::AnyCall;
use crate::shared::Shared;
use crate::table::{Ending, Id, Leave, Next, Stackless, Table};
use crate::turn::{self, Ends};

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
            sweep(self.shared);
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
/// already.
pub(crate) fn steer(
    shared: &Arc<Shared>,
    mut next: Option<Next>,
    limit: Option<Time>,
    is_settled: impl Fn() -> bool,
) {
    let mut guard = Guard { shared, is_armed: true };
    loop {
        // What it has served is dropped when the turn is performed: that may be code of users.
        let mut _served = None;
        let back = match next.take() {
            Some(Next::Poll { id, stackless, turn, call }) => {
                let turn = turn::begin(shared, id, turn, call, Some(&stackless.waker));
                let body = poll(shared, id, stackless, &turn);
                let (leave, served) = turn.finish();
                _served = Some(served);
                Some((id, body, leave))
            }
            Some(Next::Run { .. }) => unreachable!("whoever has a stack has a home core"),
            Some(Next::Ask(question)) => {
                next = Some(shared.answer(question));
                continue;
            }
            Some(Next::InVain | Next::Nobody) => None,
            None => {
                shared.point_if_ready();
                None
            }
        };
        let is_late = limit.is_some_and(|limit| now() >= limit);
        let is_done = || is_late || is_settled();
        match shared.operate_as_scheduler(|table| step(table, back, is_done)) {
            Step::Next(scheduled) => next = Some(scheduled),
            Step::Again => {}
            Step::Left => guard.is_armed = false,
            Step::Helper => {
                send_helper(shared);
                guard.is_armed = false;
            }
            Step::Stopped => {
                sweep(shared);
                guard.is_armed = false;
            }
        }
        if !guard.is_armed {
            return;
        }
    }
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
            && let Some(body) = stackless.take_if(|_| !world::is_here())
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

/// S2: one turn. Gives the body back, unless it has ended.
fn poll(shared: &Arc<Shared>, id: Id, mut stackless: Stackless, turn: &Ends) -> Option<Stackless> {
    stackless.inner.take().into_iter().for_each(user::wake_waker);
    let polled = catch_unwind(AssertUnwindSafe(|| {
        let mut context = Context::from_waker(&stackless.waker);
        stackless.future.as_mut().poll(&mut context)
    }));
    let payload = match polled {
        Ok(Poll::Pending) => return Some(stackless),
        // It has told the table itself.
        Ok(Poll::Ready(())) => return None,
        Err(payload) => payload,
    };
    drop_body(stackless);
    if unwind::is_exit(&*payload) {
        resume_unwind(payload);
    }
    if let Some(leave) = turn.take_leave() {
        shared.operate_as_scheduler(|table| table.leave(id, leave));
    }
    end(shared, id, Ending::Panicked(payload));
    None
}

/// A body has not come to its end.
fn end(shared: &Arc<Shared>, id: Id, ending: Ending) {
    let mut nothing = None::<fn(&dyn AnyCall) -> Option<Waiter>>;
    let ended = shared.operate_as_scheduler(|table| table.end(id, ending, &mut nothing));
    if let Some(failure) = ended {
        shared.report(failure);
    }
}

/// Its destructors run; if one panics, its coroutine has ended all the same.
fn drop_body(stackless: Stackless) {
    drop(user::try_dispose(stackless));
}

/// H3: a helper steers, to whom the helm was given.
pub(crate) fn send_helper(shared: &Arc<Shared>) {
    let shared = shared.clone();
    help(move || {
        let _steers = turn::steers(&shared);
        steer(&shared, None, None, || false);
    });
}

/// Drops the bodies of a system that has ended, and leaves the helm. Whoever calls this has it.
pub(crate) fn sweep(shared: &Arc<Shared>) {
    let _steers = turn::steers(shared);
    loop {
        let body = shared.operate_as_scheduler(|table| {
            let body = table.take_body();
            if body.is_none() {
                table.leave_helm();
            }
            body
        });
        let Some((id, stackless)) = body else { return };
        // Its destructors are its own doing, too; a turn it is not.
        let turn = turn::begin(shared, id, 0, None, None);
        drop_body(stackless);
        drop(turn);
        end(shared, id, Ending::Exited);
    }
}

/// Ends a system, and waits until its bodies are dropped, unless one of them does this itself, a future, a coroutine
/// that is to exit, or code that is called by one who steers this system or another: then whoever has the helm sees to
/// it.
pub(crate) fn stop_and_sweep(shared: &Arc<Shared>) {
    shared.operate_as_scheduler(Table::stop);
    if turn::coroutine(shared).is_some() {
        return;
    }
    // One that cannot wait leaves it to whoever steers.
    let waiter = can_park().then(Waiter::current);
    loop {
        let is_taken = shared.operate_as_scheduler(|table| {
            let is_free = !core::mem::replace(&mut table.is_steered, true);
            if !is_free {
                table.awaits_helm.extend(waiter.clone());
            }
            is_free
        });
        if is_taken {
            return sweep(shared);
        }
        // Nor does one that steers another system wait: two of them could wait for each other.
        if waiter.is_none() || turn::is_steering_any() {
            return;
        }
        // One that is to exit may be what the one who steers waits for, to end its own system.
        if park(Reason::Blocking) == Parked::Exit {
            return;
        }
    }
}
