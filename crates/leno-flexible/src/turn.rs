//! Whose turn it is on this thread: which coroutine without a home core is being polled by the calling code.
//!
//! Such a body runs on the thread of whoever steers its system. What it does is its coroutine's doing,
//! and not that thread's; and it must not block, or nobody would steer. Both are found out here.
//!
//! A turn also knows whose call is served in it, which cannot change meanwhile, except that it is withdrawn;
//! and an operation that ends it, if that can wait until the poll has come back: then the table is locked
//! once for both. It is performed before whatever else the coroutine does in this turn.
//!
//! Several turns may be under way on one thread, one on top of the other: a body of one system calls a
//! coroutine of another. In a world all threads are on one thread of the machine, so each turn says to
//! whom it belongs; and on which stack it was begun, since a member of a ring may hop to another one in a turn.
//!
//! A turn is over when its coroutine has ended: code that is called after that, such as a failure hook, is not the
//! coroutine's doing.
//!
//! A body that goes from thread to thread looks here, too, and whatever finds the thread's turns has a frame
//! of its own: the compiler could keep their address while such a body is suspended.
//!
//! Deliberately not here: bodies on a home core, which the kernel knows.

use core::cell::RefCell;
use std::sync::Arc;
use std::task::Waker;

use leno_kernel::Co;
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::who;

use crate::call::AnyCall;
use crate::raw::place::Place;
use crate::shared::Shared;
use crate::table::{Id, Leave};

/// One turn.
pub(crate) struct Turn {
    /// The kernel's coroutine that steers, or the thread of a world; `None` on a plain thread.
    steered_by: Option<Co>,
    /// The stack on which it was begun.
    place: Place,
    /// Where its system is, which lives as long as the turn.
    system: usize,
    id: Id,
    pub(crate) number: u64,
    /// The call that is served.
    pub(crate) call: Option<Arc<dyn AnyCall>>,
    /// The data of the body's own waker: whoever polls a part of it with another one has it woken.
    waker: Option<*const ()>,
    pub(crate) end: End,
}

/// Whether a turn has ended, though its poll has not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It goes on.
    Open,
    /// By this, which is still to be performed.
    By(Leave),
    /// By something that was performed.
    Done,
    /// With its coroutine: it is nobody's any more.
    Over,
}

impl Turn {
    /// Whether this wakes the body as a whole.
    pub(crate) fn is_own(&self, waker: &Waker) -> bool {
        self.waker == Some(waker.data())
    }

    fn take_leave(&mut self) -> Option<Leave> {
        let End::By(leave) = self.end else { return None };
        self.end = End::Done;
        Some(leave)
    }
}

thread_local!(static TURNS: RefCell<Vec<Turn>> = const { RefCell::new(Vec::new()) });

/// Calls `f`, which calls no code of users, with what this thread has; `None` when that is gone, at its end.
#[inline]
fn with<T, R>(
    key: &'static std::thread::LocalKey<RefCell<Vec<T>>>,
    f: impl FnOnce(&mut Vec<T>) -> Option<R>,
) -> Option<R> {
    key.try_with(|list| f(&mut list.borrow_mut())).ok().flatten()
}

/// The call that a turn has served. It may be the last to know an answer that nobody gets, which is dropped with it.
pub(crate) struct Served(Option<Arc<dyn AnyCall>>);

impl Served {
    /// Drops it. Returns an exit that this has raised.
    #[inline]
    pub(crate) fn dispose(mut self) -> Option<Panic> {
        let panic = user::try_dispose(self.0.take()?).err()?;
        user::report("a destructor", panic)
    }
}

impl Drop for Served {
    #[inline]
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            user::discard(call);
        }
    }
}

/// Ends a turn when it goes.
pub(crate) struct Ends {
    system: usize,
    number: u64,
}

impl Ends {
    /// What is still to be performed, once.
    pub(crate) fn take_leave(&self) -> Option<Leave> {
        with(&TURNS, |turns| {
            let place = self.place(turns)?;
            turns[place].take_leave()
        })
    }

    /// Marks it as over, with its coroutine: nothing of it is to be performed.
    pub(crate) fn mark_over(&self) {
        with(&TURNS, |turns| {
            let place = self.place(turns)?;
            turns[place].end = End::Over;
            Some(())
        });
    }

    /// Ends it: what is still to be performed, and what is to be dropped after that.
    pub(crate) fn finish(self) -> (Option<Leave>, Served) {
        let Some(mut ended) = self.remove() else { return (None, Served(None)) };
        core::mem::forget(self);
        (ended.take_leave(), Served(ended.call.take()))
    }

    fn remove(&self) -> Option<Turn> {
        with(&TURNS, |turns| {
            let place = self.place(turns)?;
            if place + 1 == turns.len() { turns.pop() } else { Some(turns.remove(place)) }
        })
    }

    /// It is the last one, or near.
    fn place(&self, turns: &[Turn]) -> Option<usize> {
        turns.iter().rposition(|turn| (turn.system, turn.number) == (self.system, self.number))
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        // Not while they are borrowed.
        drop(self.remove().map(|ended| Served(ended.call)));
    }
}

thread_local! {
    /// The systems that are steered on this thread, each with the kernel's coroutine that does so.
    static STEERED: RefCell<Vec<(Option<Co>, usize)>> = const { RefCell::new(Vec::new()) };
}

/// The calling code steers a system until this goes.
pub(crate) struct Steers((Option<Co>, usize));

impl Drop for Steers {
    #[inline(never)]
    fn drop(&mut self) {
        with(&STEERED, |steered| {
            let place = steered.iter().rposition(|own| *own == self.0)?;
            Some(steered.remove(place))
        });
    }
}

/// The calling code steers this system, and calls code of users also between turns. `None` where it cannot steer: in
/// a destructor of a thread-local, at the end of its thread.
#[inline(never)]
pub(crate) fn steers(shared: &Arc<Shared>) -> Option<Steers> {
    let own = (here(), address(shared));
    with(&TURNS, |_| Some(()))?;
    with(&STEERED, |steered| {
        steered.push(own);
        Some(Steers(own))
    })
}

/// Whether the calling code was called by one who steers this system, or runs beside it on the same thread or in the same
/// coroutine of the kernel, in a ring: nobody would steer while it waits.
#[inline(never)]
pub(crate) fn is_steering(shared: &Arc<Shared>) -> bool {
    with(&STEERED, |steered| {
        let own = (!steered.is_empty()).then(|| (here(), address(shared)))?;
        steered.contains(&own).then_some(())
    })
    .is_some()
}

fn here() -> Option<Co> {
    who().map(|(co, _)| co)
}

fn address(shared: &Arc<Shared>) -> usize {
    Arc::as_ptr(shared).addr()
}

/// A turn of this coroutine begins. No other turn of its system has this number.
pub(crate) fn begin(
    shared: &Arc<Shared>,
    id: Id,
    number: u64,
    call: Option<Arc<dyn AnyCall>>,
    waker: Option<&Waker>,
) -> Ends {
    let (system, waker) = (address(shared), waker.map(Waker::data));
    let (steered_by, place) = (here(), Place::here());
    let turn = Turn { steered_by, place, system, id, number, call, waker, end: End::Open };
    with(&TURNS, |turns| {
        turns.push(turn);
        Some(())
    });
    Ends { system, number }
}

/// The innermost turn of the calling code.
#[inline(never)]
fn innermost<T>(f: impl FnOnce(&mut Turn) -> Option<T>) -> Option<T> {
    with(&TURNS, |turns| {
        let own = (!turns.is_empty()).then(here)?;
        let is_here = |turn: &&mut Turn| {
            turn.end != End::Over && turn.steered_by == own && turn.place.is_around()
        };
        turns.iter_mut().rev().find(is_here).and_then(f)
    })
}

/// Whether the calling code is a stackless body, of whatever system.
pub(crate) fn is_here() -> bool {
    innermost(|_| Some(())).is_some()
}

/// The turn of the stackless coroutine of this system that runs the calling code. `f` runs no code of users.
pub(crate) fn current<T>(shared: &Arc<Shared>, f: impl FnOnce(Id, &mut Turn) -> T) -> Option<T> {
    innermost(|turn| (turn.system == address(shared)).then(|| f(turn.id, turn)))
}

/// The stackless coroutine of this system that runs the calling code. What it has still to do is done.
pub(crate) fn coroutine(shared: &Arc<Shared>) -> Option<Id> {
    let (id, leave) = current(shared, |id, turn| (id, turn.take_leave()))?;
    if let Some(leave) = leave {
        shared.operate(|table| table.leave(id, leave));
    }
    Some(id)
}

/// The turn of the calling code has ended, by an operation that was performed.
pub(crate) fn has_ended(shared: &Arc<Shared>) {
    current(shared, |_, turn| turn.end = End::Done);
}

/// Marks the turn of the calling code as over, with its coroutine: nothing of it is to be performed.
pub(crate) fn mark_over(shared: &Arc<Shared>) {
    current(shared, |_, turn| turn.end = End::Over);
}

/// The turn of the calling code goes on: its coroutine has given up the call that had ended it.
pub(crate) fn goes_on(shared: &Arc<Shared>) {
    let ended = current(shared, |id, turn| (turn.end == End::Done).then_some(id));
    if let Some(id) = ended.flatten()
        && shared.lock().is_active(id)
    {
        current(shared, |_, turn| turn.end = End::Open);
    }
}
