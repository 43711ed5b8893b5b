//! What the parallel schedule consists of.

use core::task::{Context, Poll};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{AnyWire, COLD, Core, HOT, Host, OUTSIDE, Operation, Starter, Ticket, operate};
use crate::channel::Channel;
use crate::cx::{Caller, FutureCx, NodeCx};
use crate::error::Deadlock;
use crate::fate::Fate;
use crate::lock::{Locked, lock};
use crate::mode::{Parallel, Sealed};
use crate::run::Temperature;
use crate::sender::Unsent;
use crate::source::Source;
use crate::state::Take;

impl Sealed for Parallel {
    const LOOKS_FIRST: bool = false;
    const IS_PARALLEL: bool = true;
    type Ref<X> = Arc<X>;
    type Lock<X> = Mutex<X>;
    type Guard<'a, X: 'a> = Locked<MutexGuard<'a, X>>;
    type Core = Arc<Core>;
    type Feed<X> = ();
    type Peer = ();
    type Way<'a> = ();
    type Ticket = Ticket;
    type Own<'a> = Operation<'a>;
    type Any = AnyWire;
    type Starter = Starter;
    type Host = Host;

    #[inline(always)]
    fn refer<X>(target: X) -> Arc<X> {
        Arc::new(target)
    }

    #[inline(always)]
    fn guard<X>(content: X) -> Mutex<X> {
        Mutex::new(content)
    }

    #[inline(always)]
    #[track_caller]
    fn lock<X>(mutex: &Mutex<X>) -> Locked<MutexGuard<'_, X>> {
        lock(mutex)
    }

    #[inline(always)]
    fn by_hand<X>(_: &Channel<X, Parallel>, _: bool) -> Option<X> {
        None
    }

    #[inline(always)]
    fn feed<X>(_: &Channel<X, Parallel>) -> Take<X> {
        Take::Empty
    }

    fn peer(_: &Arc<Core>, _: usize) -> Option<()> {
        None
    }

    fn wake(core: &Arc<Core>, ticket: Ticket) {
        match ticket.node {
            OUTSIDE => core.wake_outside(ticket),
            _ => core.wake_node(ticket),
        }
    }

    #[inline]
    fn start(core: &Arc<Core>, node: usize) {
        let node = core.node(node);
        if node.temperature.load(SeqCst) == COLD
            && node.temperature.compare_exchange(COLD, HOT, SeqCst, SeqCst).is_ok()
        {
            core.running.fetch_add(1, SeqCst);
            node.handle.unpark();
        }
    }

    #[inline(always)]
    fn hand_in<T>(_: &NodeCx<'_, Parallel>, _: &Channel<T, Parallel>, value: T) -> Option<T> {
        Some(value)
    }

    fn offer<T>(
        caller: Caller<'_, '_, Parallel>,
        channel: &Channel<T, Parallel>,
        value: T,
    ) -> Result<(), Unsent<T>> {
        operate::offer(caller, channel, value)
    }

    fn receive<X: Source<S = Parallel>>(
        caller: Caller<'_, '_, Parallel>,
        source: &X,
    ) -> Result<Option<X::Item>, Deadlock> {
        operate::receive(caller, source)
    }

    fn poll_offer<'a, T>(
        cx: &'a FutureCx<Parallel>,
        context: &Context<'_>,
        channel: &Channel<T, Parallel>,
        value: &mut Option<T>,
        own: &mut Option<Operation<'a>>,
    ) -> Poll<Result<(), T>> {
        operate::poll_offer(cx, context, channel, value, own)
    }

    fn poll_receive<'a, X: Source<S = Parallel>>(
        cx: &'a FutureCx<Parallel>,
        context: &Context<'_>,
        source: &X,
        own: &mut Option<Operation<'a>>,
    ) -> Poll<Option<X::Item>> {
        operate::poll_receive(cx, context, source, own)
    }

    fn ticket(own: &Operation<'_>) -> Ticket {
        own.ticket
    }

    fn forget<'a>(cx: &'a FutureCx<Parallel>, own: Operation<'a>) {
        cx.core.forget(own);
    }

    fn attempt(core: &Arc<Core>) -> u64 {
        core.attempts.fetch_add(1, Relaxed)
    }

    fn outside(core: &Arc<Core>, more: bool) {
        if !more {
            let mut outside = core.outside.lock();
            outside.ends = outside.ends.saturating_sub(1);
            core.tell_if_stuck(outside);
        }
    }

    fn fate(core: &Arc<Core>) -> &Fate<Parallel> {
        &core.fate
    }

    fn wire(core: &Arc<Core>, wire: usize) -> Option<AnyWire> {
        core.wire(wire)
    }

    fn receive_with_care<X: Source<S = Parallel>>(source: &X) -> Result<Option<X::Item>, Deadlock> {
        operate::receive(Caller::Outside((&raw const *source).addr()), source)
    }

    fn temperature(core: &Arc<Core>, node: usize) -> Temperature {
        core.temperature(node)
    }

    fn drain(core: &Arc<Core>) {
        core.fate.drop_all();
        for node in core.nodes.get().into_iter().flatten() {
            node.handle.cancel();
        }
    }
}
