//! What the parallel schedule consists of.

use core::task::{Context, Poll};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, MutexGuard};

use leno_kernel::is_planted;

use super::{AnyWire, COLD, Core, HOT, Host, Starter, Ticket, Whose, operate};
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
        let mut busy = lock(&core.busy);
        if ticket.0.is_used.swap(true, SeqCst) {
            return;
        }
        match ticket.0.whose {
            Whose::Stack => busy.running += 1,
            Whose::Future(node) => busy.wakes(node, &ticket),
            Whose::Outside => busy.blocked.retain(|(other, _)| *other != ticket),
        }
        drop(busy);
        if !is_planted("graph-wake") {
            ticket.wake();
        }
    }

    #[inline]
    fn start(core: &Arc<Core>, node: usize) {
        let node = core.node(node);
        if node.temperature.load(SeqCst) == COLD
            && node.temperature.compare_exchange(COLD, HOT, SeqCst, SeqCst).is_ok()
        {
            lock(&core.busy).running += 1;
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

    fn poll_offer<T>(
        cx: &FutureCx<Parallel>,
        context: &Context<'_>,
        channel: &Channel<T, Parallel>,
        value: &mut Option<T>,
        ticket: &mut Option<Ticket>,
    ) -> Poll<Result<(), T>> {
        operate::poll_offer(cx, context, channel, value, ticket)
    }

    fn poll_receive<X: Source<S = Parallel>>(
        cx: &FutureCx<Parallel>,
        context: &Context<'_>,
        source: &X,
        ticket: &mut Option<Ticket>,
    ) -> Poll<Option<X::Item>> {
        operate::poll_receive(cx, context, source, ticket)
    }

    fn forget(core: &Arc<Core>, ticket: &Ticket) {
        let mut busy = lock(&core.busy);
        if !ticket.0.is_used.swap(true, SeqCst)
            && let Whose::Future(node) = ticket.0.whose
        {
            busy.forgets(node, ticket);
        }
    }

    fn outside(core: &Arc<Core>, more: bool) {
        let mut busy = lock(&core.busy);
        if more {
            return;
        }
        busy.ends = busy.ends.saturating_sub(1);
        core.tell_if_stuck(busy);
    }

    fn fate(core: &Arc<Core>) -> &Fate<Parallel> {
        &core.fate
    }

    fn wire(core: &Arc<Core>, wire: usize) -> Option<AnyWire> {
        core.wire(wire)
    }

    fn receive_with_care<X: Source<S = Parallel>>(source: &X) -> Result<Option<X::Item>, Deadlock> {
        operate::receive(Caller::Outside, source)
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
