//! Sending and receiving in parallel graphs; the protocol is in the module above.

use core::task::{Context, Poll};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use leno_kernel::log::Operation;
use leno_kernel::{Object, Reason, Waiter, world};

use super::{Core, Ticket, lock};
use crate::channel::{Channel, Link, Linked};
use crate::cx::{Caller, FutureCx};
use crate::error::Deadlock;
use crate::fate;
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
    loop {
        let gate = linked.shut();
        let mut state = channel.state();
        let ticket = match state.push(value) {
            Push::Done(_) => {
                let woken = core::mem::take(&mut state.to_receive);
                drop(state);
                drop(gate);
                linked.wake(woken);
                linked.start_consumers();
                return Ok(());
            }
            Push::Refused(value) => return Err(Unsent { value, why: None }),
            Push::Full(back) => {
                value = back;
                let ticket = Ticket::new(Waiter::current(), matches!(caller, Caller::Node(_)));
                state.to_send.push(ticket.clone());
                ticket
            }
        };
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
    *lock(&cx.core.node(cx.node).want) = None;
    if let Some(old) = ticket.take() {
        channel.state().to_send.retain(|other| *other != old);
        Parallel::forget(&cx.core, &old);
    }
    let message = value.take().expect("a send that is over is not polled");
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
        Push::Full(message) => *value = Some(message),
    }
    let own = Ticket::new(Waiter::Waker(context.waker().clone()), true);
    state.to_send.push(own.clone());
    drop(state);
    drop(gate);
    *ticket = Some(own);
    linked.start_consumers();
    cx.core.rests_for(cx.node, (true, linked.index));
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
    *lock(&cx.core.node(cx.node).want) = None;
    if let Some(old) = ticket.take() {
        source.each(&mut |wire| wire.unwatch(&old));
        Parallel::forget(&cx.core, &old);
    }
    match source.receive(in_order) {
        Take::Got(item) => return Poll::Ready(Some(item)),
        Take::Closed => return Poll::Ready(None),
        Take::Empty => start_all(source),
    }
    let own = Ticket::new(Waiter::Waker(context.waker().clone()), true);
    source.each(&mut |wire| wire.watch(&own));
    // Again, for it may have come before the ticket was there.
    let again = source.receive(in_order);
    if let Take::Empty = again {
        cx.core.rests_for(cx.node, (false, source.linked().index));
        *ticket = Some(own);
        return Poll::Pending;
    }
    source.each(&mut |wire| wire.unwatch(&own));
    let mut busy = lock(&cx.core.busy);
    if own.0.is_used.swap(true, SeqCst) {
        // Whoever used it has counted this node once more.
        busy.running -= 1;
    }
    drop(busy);
    match again {
        Take::Got(item) => Poll::Ready(Some(item)),
        _ => Poll::Ready(None),
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
            start_all(source);
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
        let ticket = Ticket::new(Waiter::current(), matches!(caller, Caller::Node(_)));
        source.each(&mut |wire| wire.watch(&ticket));
        // Again, for it may have come before the ticket was there.
        let again = source.receive(false);
        let waited = if matches!(again, Take::Empty) {
            let about = (false, all[0], all.len());
            core.wait(caller, &ticket, Reason::Hungry(source.object()), about)
        } else {
            cancel(core, caller, &ticket);
            Ok(())
        };
        source.each(&mut |wire| wire.unwatch(&ticket));
        match again {
            Take::Got(item) => return Ok(Some(item)),
            Take::Closed => return Ok(None),
            Take::Empty => {}
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
        busy.running -= 1;
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
    let ticket = Ticket::new(Waiter::current(), matches!(caller, Caller::Node(_)));
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
