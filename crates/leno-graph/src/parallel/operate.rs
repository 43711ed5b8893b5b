//! Sending and receiving in parallel graphs; the protocol is in the module above.

use core::task::{Context, Poll};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use leno_kernel::log::Operation;
use leno_kernel::{Object, Reason, Waiter, is_planted, user, world};

use super::{Core, Ticket, Whose};
use crate::channel::{Channel, Link, Linked};
use crate::cx::{Caller, FutureCx};
use crate::error::Deadlock;
use crate::fate;
use crate::lock::lock;
use crate::mode::{Parallel, Sealed};
use crate::sender::Unsent;
use crate::source::Source;
use crate::state::{Push, Take};

/// An operation on this channel begins, before which others of an explored program may run.
#[inline(always)]
fn begins(operation: Operation, object: Object) {
    if world::is_observed() {
        world::point(operation, Some(object));
    }
}

pub(super) fn offer<T>(
    caller: Caller<'_, '_, Parallel>,
    channel: &Channel<T, Parallel>,
    mut value: T,
) -> Result<(), Unsent<T>> {
    let linked = channel.linked();
    begins(Operation::Send, channel.object);
    if let Caller::Node(cx) = &caller {
        fate::runs_on::<Parallel>(&cx.core, cx.node);
    }
    let mut own = None;
    loop {
        let gate = linked.shut();
        let mut state = channel.state();
        match state.push(value) {
            Push::Done(_) => {
                let woken = core::mem::take(&mut state.to_receive);
                drop(state);
                drop(gate);
                linked.wake(woken);
                linked.start_consumers();
                return Ok(());
            }
            Push::Refused(value) => return Err(Unsent { value, why: None }),
            Push::Full(back) => value = back,
        }
        let Some(ticket) = own.take() else {
            drop(state);
            drop(gate);
            // Not under the locks: it panics where nobody may wait, and a panic hook is user code.
            own = Some(Ticket::of(&caller));
            continue;
        };
        state.to_send.push(Ticket::clone(&ticket));
        drop(state);
        drop(gate);
        linked.start_consumers();
        let about = (true, linked.index, 1);
        let waited = linked.core.wait(&caller, &ticket, Reason::Blocked(channel.object), about);
        channel.state().to_send.retain(|other| *other != ticket);
        match waited {
            Ok(()) => {}
            Err(None) => {
                leno_kernel::exit();
                return Err(Unsent { value, why: None });
            }
            Err(Some(_)) if linked.core.grow() || channel.can_push() => {}
            Err(why) => return Err(Unsent { value, why }),
        }
    }
}

pub(super) fn receive<X: Source<S = Parallel>>(
    caller: Caller<'_, '_, Parallel>,
    source: &X,
) -> Result<Option<X::Item>, Deadlock> {
    let core = source.linked().core.clone();
    begins(Operation::Receive, source.object());
    if let Caller::Node(cx) = &caller {
        fate::runs_on::<Parallel>(&cx.core, cx.node);
    }
    let received = match core.is_deterministic {
        true => receive_in_order(&core, &caller, source),
        false => receive_at_once(&core, &caller, source),
    };
    match received {
        Ok(item) => Ok(item),
        Err(None) => {
            leno_kernel::exit();
            Ok(None)
        }
        Err(Some(deadlock)) => Err(deadlock),
    }
}

pub(super) fn poll_offer<T>(
    cx: &FutureCx<Parallel>,
    context: &Context<'_>,
    channel: &Channel<T, Parallel>,
    value: &mut Option<T>,
    ticket: &mut Option<Ticket>,
) -> Poll<Result<(), T>> {
    let linked = channel.linked();
    begins(Operation::Send, channel.object);
    fate::runs_on::<Parallel>(&cx.core, cx.node);
    if let Some(old) = ticket.take() {
        channel.state().to_send.retain(|other| *other != old);
        Parallel::forget(&cx.core, &old);
    }
    let mut message = value.take().expect("a send that is over is not polled");
    // Made without the locks, if it is needed: cloning a waker is user code.
    let mut own = None;
    let own = loop {
        let gate = linked.shut();
        let mut state = channel.state();
        match state.push(message) {
            Push::Done(_) => {
                let woken = core::mem::take(&mut state.to_receive);
                drop(state);
                drop(gate);
                linked.wake(woken);
                linked.start_consumers();
                return Poll::Ready(Ok(()));
            }
            Push::Refused(message) => return Poll::Ready(Err(message)),
            Push::Full(back) => message = back,
        }
        if let Some(own) = own.take() {
            state.to_send.push(Ticket::clone(&own));
            break own;
        }
        drop(state);
        drop(gate);
        *value = Some(message);
        let waiter = Waiter::Waker(context.waker().clone());
        own = Some(Ticket::new(waiter, Whose::Future(cx.node)));
        message = value.take().expect("it was just put there");
    };
    *value = Some(message);
    let own = &*ticket.insert(own);
    linked.start_consumers();
    cx.core.waits_for(cx.node, own, (true, linked.index));
    Poll::Pending
}

pub(super) fn poll_receive<X: Source<S = Parallel>>(
    cx: &FutureCx<Parallel>,
    context: &Context<'_>,
    source: &X,
    ticket: &mut Option<Ticket>,
) -> Poll<Option<X::Item>> {
    let in_order = cx.core.is_deterministic;
    begins(Operation::Receive, source.object());
    fate::runs_on::<Parallel>(&cx.core, cx.node);
    if let Some(old) = ticket.take() {
        source.each(&mut |wire| wire.unwatch(&old));
        Parallel::forget(&cx.core, &old);
    }
    match source.receive(in_order) {
        Take::Got(item) => return Poll::Ready(Some(item)),
        Take::Closed => return Poll::Ready(None),
        Take::Empty => start_all(source),
    }
    let own = Ticket::new(Waiter::Waker(context.waker().clone()), Whose::Future(cx.node));
    source.each(&mut |wire| wire.watch(&own));
    // Again, for it may have come before the ticket was there. Messages that are dropped with a join may panic.
    let again = user::call(|| source.receive(in_order));
    if let Ok(Take::Empty) = again {
        cx.core.waits_for(cx.node, &own, (false, source.linked().index));
        *ticket = Some(own);
        return Poll::Pending;
    }
    source.each(&mut |wire| wire.unwatch(&own));
    // If it was used before, the node runs, and is polled once more.
    Parallel::forget(&cx.core, &own);
    match again {
        Ok(Take::Got(item)) => Poll::Ready(Some(item)),
        Ok(_) => Poll::Ready(None),
        Err(panic) => panic.resume(),
    }
}

type Stopped = Option<Deadlock>;

/// All senders are started, then one after the other is received from.
fn receive_in_order<X: Source<S = Parallel>>(
    core: &Arc<Core>,
    caller: &Caller<'_, '_, Parallel>,
    source: &X,
) -> Result<Option<X::Item>, Stopped> {
    let (mut is_started, mut ends) = (false, 0);
    // Who waits for one of several waits with all of them.
    source.each(&mut |_| ends += 1);
    source.in_order(&mut |linked: &Linked<Parallel>| {
        if !is_started {
            match is_planted("graph-start") {
                true => linked.start_producers(),
                false => start_all(source),
            }
            is_started = true;
        }
        wait_at(core, caller, linked, (source.object(), ends))
    })
}

/// Takes what there is of all, or waits until there may be more.
fn receive_at_once<X: Source<S = Parallel>>(
    core: &Arc<Core>,
    caller: &Caller<'_, '_, Parallel>,
    source: &X,
) -> Result<Option<X::Item>, Stopped> {
    loop {
        match source.receive(false) {
            Take::Got(item) => return Ok(Some(item)),
            Take::Closed => return Ok(None),
            Take::Empty => start_all(source),
        }
        let mut all = Vec::new();
        source.each_linked(&mut |linked| all.push(linked.index));
        let ticket = Ticket::of(caller);
        source.each(&mut |wire| wire.watch(&ticket));
        // Again, for it may have come before the ticket was there.
        let again = user::call(|| source.receive(false));
        let waited = if matches!(again, Ok(Take::Empty)) {
            let about = (false, all[0], all.len());
            core.wait(caller, &ticket, Reason::Hungry(source.object()), about)
        } else {
            cancel(core, caller, &ticket);
            Ok(())
        };
        source.each(&mut |wire| wire.unwatch(&ticket));
        match again {
            Ok(Take::Got(item)) => return Ok(Some(item)),
            Ok(Take::Closed) => return Ok(None),
            Ok(Take::Empty) => {}
            Err(panic) => panic.resume(),
        }
        match waited {
            Err(Some(why)) if !core.grow() => match source.receive(false) {
                Take::Got(item) => return Ok(Some(item)),
                Take::Closed => return Ok(None),
                Take::Empty => return Err(Some(why)),
            },
            Err(None) => return Err(None),
            _ => {}
        }
    }
}

/// Nobody need wait: the ticket is used up, unless someone was faster.
fn cancel(core: &Arc<Core>, caller: &Caller<'_, '_, Parallel>, ticket: &Ticket) {
    let mut busy = lock(&core.busy);
    if ticket.0.is_used.swap(true, SeqCst) && matches!(caller, Caller::Node(_)) {
        // Whoever used it has counted this node once more.
        busy.running = busy.running.saturating_sub(1);
    }
}

fn start_all<X: Source<S = Parallel>>(source: &X) {
    source.each_linked(&mut |linked| linked.start_producers());
}

/// Waits for a message in one channel; the receiver has so many ends.
fn wait_at(
    core: &Arc<Core>,
    caller: &Caller<'_, '_, Parallel>,
    linked: &Linked<Parallel>,
    (object, ends): (Object, usize),
) -> Result<(), Stopped> {
    let index = linked.index;
    let wire = core.wire(index).expect("an end of a channel keeps it");
    let ticket = Ticket::of(caller);
    wire.watch(&ticket);
    let waited = match wire.can_take() {
        true => {
            cancel(core, caller, &ticket);
            Ok(())
        }
        false => core.wait(caller, &ticket, Reason::Hungry(object), (false, index, ends)),
    };
    wire.unwatch(&ticket);
    match waited {
        Err(Some(_)) if core.grow() || wire.can_take() => Ok(()),
        waited => waited,
    }
}
