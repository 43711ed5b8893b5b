//! Sending and receiving in nodes of sequential graphs that are futures.

use core::task::Poll;

use super::Want;
use crate::channel::{Channel, Linked};
use crate::cx::FutureCx;
use crate::mode::Sequential;
use crate::source::Source;
use crate::state::{Push, Take};

/// `value` is gone when it is in the channel, also if control is handed over first.
#[inline(always)]
pub(super) fn offer<T>(
    cx: &FutureCx<Sequential>,
    channel: &Channel<T, Sequential>,
    value: &mut Option<T>,
    ticket: &mut Option<usize>,
) -> Poll<Result<(), T>> {
    let (linked, core) = (channel.linked(), &cx.core);
    let message = value.take().expect("a send that is over is not polled");
    if core.is_chain {
        let pushed = channel.state().push(message);
        return match pushed {
            Push::Done(true) if linked.is_awaited() => {
                core.node(cx.node).can_go_on.set(true);
                Poll::Pending
            }
            Push::Done(_) => Poll::Ready(Ok(())),
            Push::Refused(message) => Poll::Ready(Err(message)),
            Push::Full(message) => {
                *value = Some(message);
                core.node(cx.node).want.set(Want::Send(linked.index));
                Poll::Pending
            }
        };
    }
    if ticket.take().is_some() {
        channel.sends_no_more(cx.node);
    }
    core.node(cx.node).want.set(Want::Nothing);
    let (pushed, woken) = channel.push(message);
    match pushed {
        Push::Done(_) => {
            channel.wake_receivers(woken);
            linked.start_consumers();
            Poll::Ready(Ok(()))
        }
        Push::Refused(message) => Poll::Ready(Err(message)),
        Push::Full(message) => {
            *value = Some(message);
            core.node(cx.node).want.set(Want::Send(linked.index));
            linked.start_consumers();
            channel.state().to_send.push(cx.node);
            *ticket = Some(cx.node);
            Poll::Pending
        }
    }
}

#[inline(always)]
pub(super) fn receive<X: Source<S = Sequential>>(
    cx: &FutureCx<Sequential>,
    source: &X,
    ticket: &mut Option<usize>,
) -> Poll<Option<X::Item>> {
    let core = &cx.core;
    let node = core.node(cx.node);
    node.want.set(Want::Nothing);
    if core.is_chain {
        // What a join has taken before it must wait goes back: nobody else can run meanwhile.
        let received = source.in_order(&mut |linked: &Linked<Sequential>| {
            let want = Want::Receive(linked.index);
            if core.await_by_hand(linked, false) || core.is_satisfied(want) {
                return Ok(());
            }
            node.want.set(want);
            Err(())
        });
        return received.map_or(Poll::Pending, Poll::Ready);
    }
    if ticket.take().is_some() {
        source.each(&mut |wire| wire.unwatch(cx.node));
    }
    match source.receive(false) {
        Take::Got(item) => return Poll::Ready(Some(item)),
        Take::Closed => return Poll::Ready(None),
        Take::Empty => {}
    }
    source.each_linked(&mut |linked| {
        linked.start_producers();
        node.want.set(Want::Receive(linked.index));
    });
    source.each(&mut |wire| wire.watch(cx.node));
    *ticket = Some(cx.node);
    Poll::Pending
}
