//! The one queue of an event loop that other threads add to, and how the code that runs the loop waits at it: the state of a
//! [wait queue](leno_kernel::queue), and its line.
//!
//! Who waits looks under the lock, and stands in line before it lets go of that; code that adds something ends its wait.
//! A waker adds before it lets go of itself: so while the lock is held, a node of which nobody else holds a waker, and
//! which is not in the queue, is never woken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

use leno_kernel::queue::{First, Guard, Next, Shared, Stage, WaitQueue};
use leno_kernel::{Reason, Time, Waiter, Wake as Woken, park, park_until, user};

use super::Result;

/// The queue that other threads add to, and whom they wake then.
pub(super) struct Ended {
    queue: WaitQueue<Shared, Queue, (), 1>,
}

#[derive(Default)]
pub(super) struct Queue {
    pub(super) operations: VecDeque<(u64, Result)>,
    /// Nodes that were woken, each once.
    pub(super) nodes: Vec<usize>,
}

/// What a look into the queue has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// What is waited for.
    Found,
    /// Nothing yet.
    Wait,
    /// Nothing, and nothing will ever come.
    InVain,
}

/// Whatever operations gave that nobody has taken, a helper thread may be the last to let go of.
impl Drop for Ended {
    fn drop(&mut self) {
        let operations = core::mem::take(&mut self.lock().operations);
        user::discard_all(operations);
    }
}

impl Ended {
    pub(super) fn new() -> Ended {
        Ended { queue: WaitQueue::new(Queue::default()) }
    }

    pub(super) fn lock(&self) -> Guard<'_, Shared, Queue, (), 1> {
        self.queue.lock()
    }

    pub(super) fn add(&self, add: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        add(&mut queue);
        let first = queue.settle_first(0, Stage::Met, (), |_, ()| ());
        drop(queue);
        if let Ok(((), Some(sleeper))) = first {
            sleeper.wake();
        }
    }

    /// Waits until something is added or it is `due`, unless `look` finds that it need not. Whether it is
    /// worth another look; `false` if it is in vain.
    pub(super) fn wait(&self, due: Option<Time>, mut look: impl FnMut(&mut Queue) -> Look) -> bool {
        let mut own = None;
        loop {
            let mut queue = self.lock();
            match look(&mut queue) {
                Look::Found => return true,
                Look::InVain => return false,
                Look::Wait => {}
            }
            let Some(own) = own.take() else {
                drop(queue);
                // Not under the lock: it panics where nobody may wait, and a panic hook is user code.
                own = Some(Waiter::current());
                continue;
            };
            let mut is_to_exit = false;
            let next = || {
                let woken = match due {
                    Some(due) => park_until(Reason::Io, due),
                    None => park(Reason::Io),
                };
                is_to_exit = woken == Woken::Exit;
                if woken == Woken::Unparked { Next::Look } else { Next::Leave }
            };
            drop(queue.wait(0, own, (), || First::Wait, next, |_, _| ()).0);
            if is_to_exit {
                leno_kernel::exit();
            }
            return true;
        }
    }
}

/// Wakes a node that is a future, from any thread.
#[doc(hidden)]
pub struct NodeWaker {
    ended: Arc<Ended>,
    node: usize,
}

impl NodeWaker {
    pub(super) fn new(ended: Arc<Ended>, node: usize) -> NodeWaker {
        NodeWaker { ended, node }
    }

    /// What wakes the node.
    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    /// Parks until the node is woken: `false` if nobody can. Others that were woken are forgotten: only one
    /// waits at a time, and is asked again before it does.
    pub(crate) fn wait(self: &Arc<Self>) -> bool {
        let mut is_woken = false;
        let mut can_be = true;
        while !is_woken && can_be {
            can_be = self.ended.wait(None, |queue| {
                is_woken = queue.nodes.contains(&self.node);
                queue.nodes.clear();
                match (is_woken, Arc::strong_count(self)) {
                    (true, _) => Look::Found,
                    (false, 1) => Look::InVain,
                    (false, _) => Look::Wait,
                }
            });
        }
        is_woken
    }
}

impl Wake for NodeWaker {
    fn wake(self: Arc<Self>) {
        self.ended.add(|queue| {
            if !queue.nodes.contains(&self.node) {
                queue.nodes.push(self.node);
            }
        });
    }
}
