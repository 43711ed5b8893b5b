//! Whoever is spawned runs before its spawner, whoever reads before who writes.
//!
//! It is one of the orders that Skaller 2017 allows, and the one of its author's own programs: the
//! other of the two goes to the front of the active fibres. So traces can be predicted by hand.

use core::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use leno_kernel::Co;
use leno_kernel::policy::{Choice, ChoiceKind, Policy, Ready, Why};

use crate::scheduler::Doing;

/// See the module.
pub(crate) struct ReaderFirst {
    active: VecDeque<Co>,
    /// What the running fibre does, of which the core says nothing.
    doing: Rc<Cell<Doing>>,
    /// The running fibre is about to make way for another, and is next after it.
    makes_way: bool,
}

impl ReaderFirst {
    pub(crate) fn new(doing: Rc<Cell<Doing>>) -> ReaderFirst {
        ReaderFirst { active: VecDeque::new(), doing, makes_way: false }
    }
}

impl Policy for ReaderFirst {
    fn ready(&mut self, ready: &Ready<'_>) {
        let is_next = match ready.why {
            Why::Spawned => self.doing.get() == Doing::Spawns,
            Why::Unparked => matches!(self.doing.get(), Doing::Reads | Doing::Writes),
            Why::Yielded => core::mem::take(&mut self.makes_way),
            _ => false,
        };
        if is_next {
            self.active.push_front(ready.co);
        } else {
            self.active.push_back(ready.co);
        }
    }

    fn pick(&mut self) -> Option<Co> {
        self.active.pop_front()
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        if choice.kind != ChoiceKind::After {
            return 0;
        }
        self.makes_way = matches!(self.doing.get(), Doing::Writes | Doing::Spawns);
        usize::from(self.makes_way)
    }

    fn forget(&mut self, co: Co) {
        self.active.retain(|other| *other != co);
    }

    fn name(&self) -> &str {
        "reader first"
    }
}
