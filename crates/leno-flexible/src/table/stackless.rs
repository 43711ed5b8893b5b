//! Coroutines without a stack, and who could steer: what a system without a home core needs besides.

use core::pin::Pin;
use std::sync::Arc;
use std::task::Waker;

use super::{Id, Requester, Table};
use crate::State;
use crate::call::AnyCall;

/// A body without a stack: a future, and what wakes it.
pub(crate) struct Stackless {
    pub(crate) future: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) waker: Waker,
    /// What has to be woken before it is polled.
    pub(crate) inner: Option<Waker>,
}

/// What ends a turn and is never refused, so that it can be performed when the poll has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// 4.5, 4.6, 4.14; the answer is with the call already.
    Detach,
    /// 4.9.
    Passivate,
    /// 4.10.
    Yield,
}

impl Table {
    /// The active coroutine ends its turn.
    pub(crate) fn leave(&mut self, id: Id, leave: Leave) {
        match leave {
            Leave::Detach => self.detach(id, &mut Some(|call: &dyn AnyCall| _ = call.settle())),
            Leave::Passivate => self.passivate(id),
            Leave::Yield => self.yield_now(id),
        }
    }

    /// Takes the helm, if somebody could be scheduled and nobody has it.
    pub(crate) fn take_helm(&mut self) -> bool {
        let takes = self.has_free_helm();
        self.is_steered |= takes;
        takes
    }

    /// Whether the helm could be taken.
    pub(crate) fn has_free_helm(&self) -> bool {
        !self.is_steered && self.is_ready()
    }

    /// Leaves the helm.
    pub(crate) fn leave_helm(&mut self) {
        self.is_steered = false;
    }

    /// H1, H2: if somebody is ready and nobody steers, has somebody woken who will. If there is nobody,
    /// the helm is taken for a helper, whom the caller sends; that is what is returned.
    pub(crate) fn hand_over(&mut self) -> bool {
        if self.is_steered || !self.is_ready() || leno_context::is_planted("helm") {
            return false;
        }
        if self.wake_a_caller() {
            return false;
        }
        self.is_steered = true;
        true
    }

    /// Has a thread or coroutine woken that waits for an answer, and can steer meanwhile: one that will
    /// be answered soon, if there is one. Whether there was any.
    fn wake_a_caller(&mut self) -> bool {
        let soon = self.queue.iter().find_map(|id| self.call_of_one_who_blocks(*id));
        let found = soon.or_else(|| self.ids().find_map(|id| self.call_of_one_who_blocks(id)));
        let found = found.cloned();
        let is_found = found.is_some();
        found.into_iter().for_each(|call| self.wake_caller(call));
        is_found
    }

    /// Of the calls from outside that n serves, or will, one whose caller blocks.
    fn call_of_one_who_blocks(&self, n: Id) -> Option<&Arc<dyn AnyCall>> {
        let cell = self.cell(n);
        let served = cell.caller.iter().map(|caller| (&caller.from, &caller.call));
        let pending = cell.requests.iter().filter_map(|own| Some((&own.from, own.call.as_ref()?)));
        served.chain(pending).find_map(|(from, call)| {
            let is_outside = matches!(from, Requester::Outside(_));
            (is_outside && call.blocks()).then_some(call)
        })
    }

    /// A poll of the active coroutine has come back: its body waits where it was, unless it has ended.
    pub(crate) fn polled(&mut self, id: Id, stackless: Option<Stackless>) {
        let Some(stackless) = stackless else { return };
        if self.get(id).is_none_or(|cell| cell.state == State::Terminated) {
            return self.garbage.push(Box::new(stackless));
        }
        let is_woken = core::mem::take(&mut self.cell_mut(id).is_woken);
        self.cell_mut(id).stackless = Some(stackless);
        if self.is_active(id) {
            self.park(id);
            if is_woken {
                self.came_back(id);
            }
        }
    }

    /// n ends its turn in a part of its body that has a waker of its own, as within a `select`: that part is
    /// polled in the next turn only if this is woken.
    ///
    /// Cloning and dropping a waker may be code of a user, so whoever calls has cloned it before.
    pub(crate) fn leaves_in(&mut self, n: Id, waker: Waker) {
        let cell = self.cell_mut(n);
        let is_own = cell.waker.as_ref().is_some_and(|own| own.will_wake(&waker));
        let unused = if is_own { Some(waker) } else { cell.inner.replace(waker) };
        if unused.is_some() {
            self.garbage.push(Box::new(unused));
        }
    }

    /// Something that it may wait for has happened.
    pub(crate) fn woken(&mut self, id: Id) {
        match self.get(id).map(|cell| cell.state) {
            Some(State::Parked) => drop(self.came_back(id)),
            Some(State::Active) => self.cell_mut(id).is_woken = true,
            // In the turn in which it calls; it may give that up before its poll comes back.
            Some(State::Calling) if self.cell(id).stackless.is_none() => {
                self.cell_mut(id).is_woken = true;
            }
            _ => {}
        }
    }

    /// The system has ended: takes out the body of one that has not.
    pub(crate) fn take_body(&mut self) -> Option<(Id, Stackless)> {
        let id = self.ids().find(|id| self.cell(*id).stackless.is_some())?;
        let stackless = self.cell_mut(id).stackless.take()?;
        Some((id, stackless))
    }
}
