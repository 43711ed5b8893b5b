//! Sending and receiving in sequential graphs.

use std::rc::Rc;

use super::{Core, Want};
use crate::channel::{Channel, Link, Linked};
use crate::cx::Caller;
use crate::error::Deadlock;
use crate::event_loop::Stop;
use crate::mode::Sequential;
use crate::sender::Unsent;
use crate::source::{Pause, Source};
use crate::state::{Push, Take};

#[inline(never)]
pub(super) fn offer<T>(
    caller: Caller<'_, '_, Sequential>,
    channel: &Channel<T, Sequential>,
    mut value: T,
) -> Result<(), Unsent<T>> {
    loop {
        let mut state = channel.state();
        if !state.is_chain {
            drop(state);
            let (pushed, woken) = channel.push(value);
            match pushed {
                Push::Done(_) => {
                    channel.wake_receivers(woken);
                    channel.linked().start_consumers();
                    return Ok(());
                }
                Push::Refused(value) => return Err(Unsent { value, why: None }),
                Push::Full(back) => value = back,
            }
        } else {
            let pushed = state.push(value);
            drop(state);
            match (pushed, &caller) {
                (Push::Done(is_full), Caller::Node(cx)) => {
                    if is_full && channel.linked().is_awaited() {
                        cx.core.suspend(cx, true);
                    }
                    return Ok(());
                }
                (Push::Done(_), Caller::Outside(_)) => {
                    let linked = channel.linked();
                    linked.consumers.iter().for_each(|node| linked.core.nudge(*node));
                    return Ok(());
                }
                (Push::Refused(value), _) => return Err(Unsent { value, why: None }),
                (Push::Full(back), _) => value = back,
            }
        }
        if let Err(why) = wait_for_room(&caller, channel) {
            return Err(Unsent { value, why });
        }
    }
}

/// Waits until a channel may have room. `None` while the node's own stack unwinds.
#[cold]
fn wait_for_room<T>(
    caller: &Caller<'_, '_, Sequential>,
    channel: &Channel<T, Sequential>,
) -> Result<(), Option<Deadlock>> {
    let linked = channel.linked();
    let core = &linked.core;
    let want = Want::Send(linked.index);
    match caller {
        Caller::Outside(_) if core.is_chain => core.drive(want).map_err(Some),
        Caller::Outside(_) => {
            linked.start_consumers();
            core.run_loop(want, &mut || channel.can_push()).map_err(Some)
        }
        Caller::Node(cx) => {
            core.node(cx.node).want.set(want);
            if !core.is_chain {
                linked.start_consumers();
                channel.state().to_send.push(cx.node);
            }
            let went_on = core.suspend(cx, false);
            if !core.is_chain {
                channel.sends_no_more(cx.node);
            }
            core.node(cx.node).want.set(Want::Nothing);
            went_on.then_some(()).ok_or(None)
        }
    }
}

#[inline(always)]
pub(super) fn receive<X: Source<S = Sequential>>(
    caller: Caller<'_, '_, Sequential>,
    source: &X,
) -> Result<Option<X::Item>, Deadlock> {
    match source.by_hand(matches!(caller, Caller::Outside(_))) {
        Some(item) => Ok(Some(item)),
        None => receive_slowly(caller, source),
    }
}

#[inline(never)]
#[track_caller]
pub(super) fn receive_slowly<X: Source<S = Sequential>>(
    caller: Caller<'_, '_, Sequential>,
    source: &X,
) -> Result<Option<X::Item>, Deadlock> {
    let core = &source.linked().core;
    if !core.is_chain {
        return receive_in_loop(core, &caller, source);
    }
    match source.in_order(&mut Awaits(caller)) {
        Ok(item) => Ok(item),
        Err(None) => Ok(None),
        Err(Some(deadlock)) => Err(deadlock),
    }
}

/// How someone in a chain waits for a message.
struct Awaits<'c, 'a>(Caller<'c, 'a, Sequential>);

impl Pause<Sequential> for Awaits<'_, '_> {
    /// `None` while the node's own stack unwinds.
    type Error = Option<Deadlock>;

    #[inline(always)]
    fn pause(&mut self, linked: &Linked<Sequential>) -> Result<(), Option<Deadlock>> {
        if linked.core.await_by_hand(linked, matches!(self.0, Caller::Outside(_))) {
            return Ok(());
        }
        match self.0 {
            Caller::Outside(_) => linked.core.await_outside(linked).map_err(Some),
            Caller::Node(cx) => linked.core.await_in_node(cx, linked),
        }
    }
}

fn receive_in_loop<X: Source<S = Sequential>>(
    core: &Rc<Core>,
    caller: &Caller<'_, '_, Sequential>,
    source: &X,
) -> Result<Option<X::Item>, Deadlock> {
    loop {
        match source.receive(false) {
            Take::Got(item) => return Ok(Some(item)),
            Take::Closed => return Ok(None),
            Take::Empty => {}
        }
        let mut index = 0;
        source.each_linked(&mut |linked| {
            linked.start_producers();
            index = linked.index;
        });
        let want = Want::Receive(index);
        match caller {
            Caller::Outside(_) => {
                let mut taken = Take::Empty;
                let mut is_done = || {
                    taken = source.receive(false);
                    !matches!(taken, Take::Empty)
                };
                core.run_loop(want, &mut is_done)?;
                if let Take::Got(item) = taken {
                    return Ok(Some(item));
                }
            }
            Caller::Node(cx) => {
                source.each(&mut |wire| wire.watch(cx.node));
                core.node(cx.node).want.set(want);
                let went_on = core.suspend(cx, false);
                core.node(cx.node).want.set(Want::Nothing);
                source.each(&mut |wire| wire.unwatch(cx.node));
                if !went_on {
                    return Ok(None);
                }
            }
        }
    }
}

impl Core {
    /// Runs the event loop until `is_done`.
    #[track_caller]
    fn run_loop(
        self: &Rc<Core>,
        want: Want,
        is_done: &mut dyn FnMut() -> bool,
    ) -> Result<(), Deadlock> {
        let running = self.enter();
        let stop = self.events.run_until(is_done, &mut |node| {
            self.node(node).is_queued.set(false);
            self.run_node(node);
        });
        match stop {
            Stop::Done => Ok(()),
            Stop::Idle if self.grow_any() => {
                drop(running);
                self.run_loop(want, is_done)
            }
            Stop::Idle => Err(self.explain(want)),
        }
    }

    /// Makes room in the smallest full channel that a node waits to send into, if the graph says so.
    fn grow_any(&self) -> bool {
        let senders =
            self.nodes.get().into_iter().flatten().filter_map(|node| match node.want.get() {
                Want::Send(wire) => Some(self.wire(wire)),
                _ => None,
            });
        let smallest = senders.min_by_key(|wire| wire.counters().capacity);
        match smallest.filter(|_| self.grows) {
            Some(wire) => {
                wire.grow();
                wire.wake_senders();
                true
            }
            None => false,
        }
    }

    #[track_caller]
    pub(super) fn finish_loop(self: &Rc<Core>) -> Result<(), Deadlock> {
        match self.run_loop(Want::Nothing, &mut || false) {
            Err(deadlock) if !deadlock.waits.is_empty() => Err(deadlock),
            _ => Ok(()),
        }
    }

    /// Starts a node that is cold: in a chain at once, else when its turn comes.
    #[track_caller]
    pub(crate) fn start_early(self: &Rc<Core>, node: usize) {
        if self.is_chain && self.temperature(node) == crate::run::Temperature::Cold {
            self.nudge(node);
        } else {
            <Sequential as crate::mode::Sealed>::start(self, node);
        }
        self.fate.raise_if_panicked();
    }
}
