//! The one queue of an event loop that other threads add to, and how whoever runs the loop waits at it.
//!
//! Who waits looks under the queue's lock, and is in the queue itself before it lets go of that; whoever
//! adds something takes it out and wakes it. A waker adds before it lets go of itself: so while the lock is
//! held, a node of which nobody else holds a waker, and which is not in the queue, is never woken.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Wake, Waker};

use leno_kernel::{Reason, Time, Waiter, Wake as Woken, park, park_until, user};

use super::Result;
use crate::lock::{Locked, lock};

/// The queue that other threads add to, and whom they wake then.
#[derive(Default)]
pub(super) struct Ended {
    queue: Mutex<Queue>,
}

#[derive(Default)]
pub(super) struct Queue {
    pub(super) operations: VecDeque<(u64, Result)>,
    /// Nodes that were woken, each once.
    pub(super) nodes: Vec<usize>,
    sleeper: Option<Waiter>,
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
    pub(super) fn lock(&self) -> Locked<MutexGuard<'_, Queue>> {
        lock(&self.queue)
    }

    pub(super) fn add(&self, add: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        add(&mut queue);
        let sleeper = queue.sleeper.take();
        drop(queue);
        if let Some(sleeper) = sleeper {
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
            if own.is_some() {
                queue.sleeper = own;
                break;
            }
            drop(queue);
            // Not under the lock: it panics where nobody may wait, and a panic hook is user code.
            own = Some(Waiter::current());
        }
        let woken = match due {
            Some(due) => park_until(Reason::Io, due),
            None => park(Reason::Io),
        };
        if woken == Woken::Exit {
            self.lock().sleeper = None;
            leno_kernel::exit();
        }
        true
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
