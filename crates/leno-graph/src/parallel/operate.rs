//! Sending and receiving in parallel graphs; the protocol is in the module above.

use core::task::{Context, Poll};
use std::sync::Arc;

use leno_kernel::layer::{is_planted, user, world};
use leno_kernel::log::Operation;
use leno_kernel::{Object, Reason, Waiter};

use super::{Core, Want};
use crate::channel::{Channel, Link, Linked};
use crate::cx::{Caller, FutureCx};
use crate::error::Deadlock;
use crate::fate;
use crate::mode::Parallel;
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
    let want = Want { sends: true, wire: linked.index };
    loop {
        let (pushed, woken) = channel.push(value);
        match pushed {
            Push::Done(_) => {
                channel.wake_receivers(woken);
                linked.start_consumers();
                return Ok(());
            }
            Push::Refused(value) => return Err(Unsent { value, why: None }),
            Push::Full(back) => value = back,
        }
        let mut own = None;
        let reason = Reason::Blocked(channel.object);
        let waited = linked.core.wait(&caller, reason, (want, 1), |ticket| {
            begins(Operation::Send, channel.object);
            own = Some(ticket);
            let waits = channel.waits_to_send(ticket);
            linked.start_consumers();
            !waits
        });
        own.into_iter().for_each(|own| channel.sends_no_more(own));
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

pub(super) fn poll_offer<'a, T>(
    cx: &'a FutureCx<Parallel>,
    context: &Context<'_>,
    channel: &Channel<T, Parallel>,
    value: &mut Option<T>,
    own: &mut Option<super::Operation<'a>>,
) -> Poll<Result<(), T>> {
    let linked = channel.linked();
    begins(Operation::Send, channel.object);
    fate::runs_on::<Parallel>(&cx.core, cx.node);
    if let Some(old) = own.take() {
        channel.sends_no_more(old.ticket);
        cx.core.forget(old);
    }
    loop {
        let message = value.take().expect("a send that is over is not polled");
        let (pushed, woken) = channel.push(message);
        match pushed {
            Push::Done(_) => {
                channel.wake_receivers(woken);
                linked.start_consumers();
                return Poll::Ready(Ok(()));
            }
            Push::Refused(message) => return Poll::Ready(Err(message)),
            Push::Full(message) => *value = Some(message),
        }
        // Cloned without the locks: that is user code.
        let waiter = Waiter::Waker(context.waker().clone());
        let wait = cx.core.begins_wait(cx.node, waiter, Want { sends: true, wire: linked.index });
        begins(Operation::Send, channel.object);
        if channel.waits_to_send(wait.ticket) {
            linked.start_consumers();
            cx.core.waits_for(own.insert(wait));
            return Poll::Pending;
        }
        cx.core.forget(wait);
    }
}

pub(super) fn poll_receive<'a, X: Source<S = Parallel>>(
    cx: &'a FutureCx<Parallel>,
    context: &Context<'_>,
    source: &X,
    own: &mut Option<super::Operation<'a>>,
) -> Poll<Option<X::Item>> {
    let in_order = cx.core.is_deterministic;
    begins(Operation::Receive, source.object());
    fate::runs_on::<Parallel>(&cx.core, cx.node);
    if let Some(old) = own.take() {
        source.each(&mut |wire| wire.unwatch(old.ticket));
        cx.core.forget(old);
    }
    match source.receive(in_order) {
        Take::Got(item) => return Poll::Ready(Some(item)),
        Take::Closed => return Poll::Ready(None),
        Take::Empty => start_all(source),
    }
    let waiter = Waiter::Waker(context.waker().clone());
    let want = Want { sends: false, wire: source.linked().index };
    let wait = cx.core.begins_wait(cx.node, waiter, want);
    begins(Operation::Receive, source.object());
    source.each(&mut |wire| wire.watch(wait.ticket));
    // Again, for it may have come before the ticket was there. Messages that are dropped with a join may panic.
    let again = user::call(|| source.receive(in_order));
    if let Ok(Take::Empty) = again {
        cx.core.waits_for(own.insert(wait));
        return Poll::Pending;
    }
    source.each(&mut |wire| wire.unwatch(wait.ticket));
    // If it was used before, the node runs, and is polled once more.
    cx.core.forget(wait);
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
        let (mut own, mut again, mut ends) = (None, Ok(Take::Empty), 0);
        source.each(&mut |_| ends += 1);
        let object = source.object();
        let want = Want { sends: false, wire: source.linked().index };
        let waited = core.wait(caller, Reason::Hungry(object), (want, ends), |ticket| {
            begins(Operation::Receive, object);
            own = Some(ticket);
            source.each(&mut |wire| wire.watch(ticket));
            // Again, for it may have come before the ticket was there.
            if !is_planted("graph-look") {
                again = user::call(|| source.receive(false));
            }
            !matches!(again, Ok(Take::Empty))
        });
        own.into_iter().for_each(|own| source.each(&mut |wire| wire.unwatch(own)));
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
    let want = Want { sends: false, wire: index };
    let mut own = None;
    let waited = core.wait(caller, Reason::Hungry(object), (want, ends), |ticket| {
        begins(Operation::Receive, wire.object());
        own = Some(ticket);
        !wire.waits_to_receive(ticket)
    });
    own.into_iter().for_each(|own| wire.unwatch(own));
    match waited {
        Err(Some(_)) if core.grow() || wire.can_take() => Ok(()),
        waited => waited,
    }
}
