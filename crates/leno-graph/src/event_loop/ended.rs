//! The one queue of an event loop that other threads add to, and how the code that runs the loop waits at it: the state of a
//! [wait queue](leno_kernel::layer::queue), and its line.
//!
//! Who waits looks under the lock, and stands in line before it lets go of that; code that adds something ends its wait.
//! A waker adds before it lets go of itself: so while the lock is held, a node of which nobody else holds a waker, and
//! which is not in the queue, is never woken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

use leno_kernel::layer::queue::{First, Guard, Left, Next, Shared, Stage, WaitQueue};
use leno_kernel::layer::user;
use leno_kernel::{Reason, Time, Waiter, Wake as Woken, park, park_until};

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

/// The queue, locked.
type Locked<'a> = Guard<'a, Shared, Queue, (), 1>;

/// Ends the wait of the first in line.
fn wake_first(mut queue: Locked<'_>) {
    let first = queue.settle_first(0, Stage::Met, (), |_, ()| ());
    drop(queue);
    if let Ok(((), Some(sleeper))) = first {
        sleeper.wake();
    }
}

/// One that exits, or whose wait unwinds, does not look any more. If its wait was ended, what was added is for the next.
fn leaves(queue: Locked<'_>, left: Left<()>) {
    match left.stage {
        Stage::Met => wake_first(queue),
        Stage::Waiting | Stage::Refused => drop(queue),
    }
}

impl Ended {
    pub(super) fn new() -> Ended {
        Ended { queue: WaitQueue::new(Queue::default()) }
    }

    pub(super) fn lock(&self) -> Locked<'_> {
        self.queue.lock()
    }

    pub(super) fn add(&self, add: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        add(&mut queue);
        wake_first(queue);
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
            let (queue, left) = queue.wait(0, own, (), || First::Wait, next, leaves);
            if is_to_exit {
                leaves(queue, left);
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use leno_kernel::{LocalSystem, cancel, yield_now};

    use super::{Ended, Look};

    /// Two that run one loop: what an operation gave is looked at by the other, if the one that was woken for it exits.
    #[test]
    fn one_that_is_woken_and_exits_has_the_next_woken() {
        let (system, ended) = (LocalSystem::new(), Rc::new(Ended::new()));
        let found = Rc::new(Cell::new(0));
        let mut both = (0..2).map(|_| {
            let (ended, found) = (ended.clone(), found.clone());
            system.spawn(move || {
                ended.wait(
                    None,
                    |queue| if queue.nodes.is_empty() { Look::Wait } else { Look::Found },
                );
                found.set(found.get() + 1);
            })
        });
        let (first, second) = (both.next().unwrap(), both.next().unwrap());
        let is_found = {
            let found = found.clone();
            system.spawn(move || {
                ended.add(|queue| queue.nodes.push(1));
                cancel(first.co().expect("it waits"));
                (0..3).for_each(|_| yield_now());
                let is_found = found.get() == 1;
                // If nobody has woken it, it goes on now.
                ended.add(|queue| queue.nodes.push(2));
                is_found
            })
        };
        system.run().unwrap();
        assert!(is_found.join().unwrap() && second.join().is_ok());
    }
}
