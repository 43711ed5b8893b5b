//! What waits for a core to have time for it, and may go to any.

use std::collections::VecDeque;
use std::sync::Arc;

use super::movable::Movable;
use crate::core::About;
use crate::join::Adoption;
use crate::options::Launch;
use crate::raw::closure::SendClosure;

/// What was spawned and has not started.
pub(crate) enum Work {
    /// It stays on the core that starts it.
    Closure(Unstarted),
    /// Any core may go on with it.
    Movable(Arc<Movable>),
}

/// A body that will get a stack.
pub(crate) struct Unstarted {
    pub(crate) about: About,
    pub(crate) launch: Launch,
    pub(crate) body: SendClosure,
    pub(crate) adoption: Arc<dyn Adoption + Send + Sync>,
}

/// What is queued for one core; idle ones rob it.
#[derive(Default)]
pub(crate) struct Pile {
    /// What has not started, the oldest first; its core takes the newest.
    pub(crate) fresh: VecDeque<Work>,
    /// Movable futures that were woken, in order: so that one that only lets others have their turn
    /// comes after them.
    pub(crate) woken: VecDeque<Arc<Movable>>,
}

impl Pile {
    pub(crate) fn len(&self) -> usize {
        self.fresh.len() + self.woken.len()
    }

    /// Takes what is oldest of each kind.
    pub(crate) fn older_half(&mut self) -> Pile {
        let (fresh, woken) = (self.fresh.len().div_ceil(2), self.woken.len().div_ceil(2));
        Pile {
            fresh: self.fresh.drain(..fresh).collect(),
            woken: self.woken.drain(..woken).collect(),
        }
    }

    pub(crate) fn extend(&mut self, other: Pile) {
        self.fresh.extend(other.fresh);
        self.woken.extend(other.woken);
    }
}
