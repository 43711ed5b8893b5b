//! What the sequential schedule consists of.

use core::cell::{RefCell, RefMut};
use core::task::{Context, Poll};
use std::rc::Rc;

use leno_coroutine::Suspender;

use super::{Core, Feed, Node, Starter, feed, operate, poll};
use crate::channel::{Channel, Link};
use crate::cx::{Caller, FutureCx, NodeCx};
use crate::error::Deadlock;
use crate::fate::Fate;
use crate::lock::Locked;
use crate::mode::{Sealed, Sequential};
use crate::run::Temperature;
use crate::sender::Unsent;
use crate::source::Source;
use crate::state::{Push, Take};

impl Sealed for Sequential {
    const LOOKS_FIRST: bool = true;
    const IS_PARALLEL: bool = false;
    type Ref<X> = Rc<X>;
    type Lock<X> = RefCell<X>;
    type Guard<'a, X: 'a> = Locked<RefMut<'a, X>>;
    type Core = Rc<Core>;
    type Feed<X> = Feed<X>;
    type Peer = Rc<Node>;
    type Way<'a> = &'a Suspender<(), bool>;
    type Ticket = usize;
    type Own<'a> = usize;
    type Any = Rc<dyn Link<Sequential>>;
    type Starter = Starter;
    type Host = ();

    #[inline(always)]
    fn refer<X>(target: X) -> Rc<X> {
        Rc::new(target)
    }

    #[inline(always)]
    fn guard<X>(content: X) -> RefCell<X> {
        RefCell::new(content)
    }

    #[inline(always)]
    #[track_caller]
    fn lock<X>(lock: &RefCell<X>) -> Locked<RefMut<'_, X>> {
        Locked::new(lock.borrow_mut())
    }

    #[inline(always)]
    fn by_hand<X>(channel: &Channel<X, Sequential>, is_outside: bool) -> Option<X> {
        let mut state = channel.state();
        if !state.is_chain {
            return None;
        }
        let value = state.pop();
        if value.is_some() || state.senders == 0 {
            return value;
        }
        drop(state);
        if is_outside && let Some(feed) = channel.feed.get() {
            return feed::ask_outside(feed, channel);
        }
        let linked = channel.linked();
        match linked.core.await_by_hand(linked, is_outside) {
            true => channel.state().pop(),
            false => None,
        }
    }

    #[inline(always)]
    fn feed<X>(channel: &Channel<X, Sequential>) -> Take<X> {
        match channel.feed.get() {
            Some(feed) => feed::ask(feed, channel),
            None => Take::Empty,
        }
    }

    fn peer(core: &Rc<Core>, node: usize) -> Option<Rc<Node>> {
        core.nodes.get()?.get(node).cloned()
    }

    fn wake(core: &Rc<Core>, node: usize) {
        if !core.node(node).is_queued.replace(true) {
            core.events.add_node(node);
        }
    }

    fn start(core: &Rc<Core>, node: usize) {
        if core.node(node).temperature.get() == Temperature::Cold {
            Sequential::wake(core, node);
        }
    }

    #[inline(always)]
    fn hand_in<T>(
        cx: &NodeCx<'_, Sequential>,
        channel: &Channel<T, Sequential>,
        value: T,
    ) -> Option<T> {
        let mut state = channel.state();
        if !state.is_chain {
            return Some(value);
        }
        let pushed = state.push(value);
        drop(state);
        match pushed {
            Push::Done(false) => None,
            Push::Done(true) => {
                if channel.linked().is_awaited() {
                    cx.core.suspend(cx, true);
                }
                None
            }
            Push::Full(value) | Push::Refused(value) => Some(value),
        }
    }

    fn offer<T>(
        caller: Caller<'_, '_, Sequential>,
        channel: &Channel<T, Sequential>,
        value: T,
    ) -> Result<(), Unsent<T>> {
        operate::offer(caller, channel, value)
    }

    /// Between who calls this and the switch there must be no call, whose return the CPU would predict wrongly.
    #[inline(always)]
    fn receive<X: Source<S = Sequential>>(
        caller: Caller<'_, '_, Sequential>,
        source: &X,
    ) -> Result<Option<X::Item>, Deadlock> {
        operate::receive(caller, source)
    }

    #[inline(always)]
    fn poll_offer<T>(
        cx: &FutureCx<Sequential>,
        _: &Context<'_>,
        channel: &Channel<T, Sequential>,
        value: &mut Option<T>,
        ticket: &mut Option<usize>,
    ) -> Poll<Result<(), T>> {
        poll::offer(cx, channel, value, ticket)
    }

    #[inline(always)]
    fn poll_receive<X: Source<S = Sequential>>(
        cx: &FutureCx<Sequential>,
        _: &Context<'_>,
        source: &X,
        ticket: &mut Option<usize>,
    ) -> Poll<Option<X::Item>> {
        poll::receive(cx, source, ticket)
    }

    fn ticket(own: &usize) -> usize {
        *own
    }

    fn forget(_: &FutureCx<Sequential>, _: usize) {}

    fn attempt(_: &Rc<Core>) -> u64 {
        0
    }

    fn outside(_: &Rc<Core>, _: bool) {}

    fn fate(core: &Rc<Core>) -> &Fate<Sequential> {
        &core.fate
    }

    fn wire(core: &Rc<Core>, wire: usize) -> Option<Rc<dyn Link<Sequential>>> {
        core.wires.get()?.get(wire)?.upgrade()
    }

    #[track_caller]
    fn receive_with_care<X: Source<S = Sequential>>(
        source: &X,
    ) -> Result<Option<X::Item>, Deadlock> {
        operate::receive_slowly(Caller::Outside((&raw const *source).addr()), source)
    }

    fn temperature(core: &Rc<Core>, node: usize) -> Temperature {
        core.temperature(node)
    }

    fn drain(core: &Rc<Core>) {
        core.drain();
    }
}
