//! Control from hand to hand: a receiver runs the sender of its channel itself, and gets control back with
//! the message, as a loop calls an iterator.
//!
//! That is possible when the sender has handed control over before and so waits for nothing (`can_go_on`).
//! Then `Linked::producer` is who runs next: one reference, no queue, nobody looked for. Everything else
//! goes through the [`chain`](super::chain), which only the one outside runs: a sender that has not begun,
//! that waits for another, or that is in the chain already.
//!
//! - Who runs by hand is not in the chain. When it comes to wait, it suspends, its receiver finds nothing
//!   in the channel and suspends too, and so on up to the one outside; the chain is then made of what
//!   they wait for.
//! - Senders with stacks are run by anyone, for each has a stack of its own. Futures are polled by the one
//!   outside alone: a row of them would nest on one stack.
//! - A panic does not unwind who ran the sender: it ends its own stack only, and cuts its channels; who
//!   receives from them finds that. See [`fate`](crate::fate).

use core::task::{Context, Waker};
use std::rc::Rc;

use leno_coroutine::Step;

use super::{Core, EndsIfUnwound, Runner, Want};
use crate::channel::Linked;
use crate::cx::NodeCx;
use crate::error::Deadlock;
use crate::mode::Sequential;

impl Core {
    /// Runs whoever sends into a channel, if it can go on: those with stacks, and for the one outside also
    /// futures. Whether it has handed control over again, with a message.
    #[inline(always)]
    pub(super) fn await_by_hand(
        self: &Rc<Core>,
        linked: &Linked<Sequential>,
        is_outside: bool,
    ) -> bool {
        let Some(node) = &linked.producer else { return false };
        if !node.can_go_on.get() {
            return false;
        }
        let index = linked.producers[0];
        let ends = EndsIfUnwound { core: self, index, awaited: Some(linked) };
        let runner = node.runner.borrow();
        let is_over = match &*runner {
            Some(Runner::Stack(coroutine)) => {
                node.can_go_on.set(false);
                linked.set_awaited(true);
                match coroutine.resume(()) {
                    Step::Suspended(hands_over) => {
                        node.can_go_on.set(hands_over);
                        false
                    }
                    Step::Finished(()) => true,
                }
            }
            Some(Runner::Future(future, _)) if is_outside => {
                let _running = self.enter();
                node.can_go_on.set(false);
                linked.set_awaited(true);
                // It is asked again, with a waker of its own, if it awaits something that is none of the graph's.
                let mut context = Context::from_waker(Waker::noop());
                self.run_here(index, || future.borrow_mut().as_mut().poll(&mut context).is_ready())
            }
            _ => {
                core::mem::forget(ends);
                return false;
            }
        };
        linked.set_awaited(false);
        core::mem::forget(ends);
        drop(runner);
        if is_over {
            self.end(index);
        } else {
            self.has_suspended(index);
        }
        node.can_go_on.get()
    }

    /// Has the one outside wait for a message in a channel; its sender has none by hand.
    #[inline(never)]
    #[track_caller]
    pub(super) fn await_outside(
        self: &Rc<Core>,
        linked: &Linked<Sequential>,
    ) -> Result<(), Deadlock> {
        let want = Want::Receive(linked.index);
        if self.is_satisfied(want) {
            return Ok(());
        }
        self.drive(want)
    }

    /// Has a node wait for a message in a channel; its sender has none by hand.
    ///
    /// # Errors
    /// `None` while the node's own stack unwinds.
    #[inline(never)]
    pub(super) fn await_in_node(
        &self,
        cx: &NodeCx<'_, Sequential>,
        linked: &Linked<Sequential>,
    ) -> Result<(), Option<Deadlock>> {
        let want = Want::Receive(linked.index);
        if self.is_satisfied(want) {
            return Ok(());
        }
        self.node(cx.node).want.set(want);
        self.suspend(cx, false).then_some(()).ok_or(None)
    }
}
