//! The events of one core: the last so many.

use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::Event;

/// See the module.
pub(crate) struct Ring {
    events: RefCell<VecDeque<Event>>,
    capacity: usize,
    lost: Cell<u64>,
}

impl Ring {
    /// Keeps the last `capacity` events, at least one.
    pub(crate) fn new(capacity: usize) -> Ring {
        Ring { events: RefCell::default(), capacity: capacity.max(1), lost: Cell::new(0) }
    }

    /// Adds an event; the oldest goes, if there are too many.
    pub(crate) fn add(&self, event: Event) {
        let mut events = self.events.borrow_mut();
        if events.len() == self.capacity {
            events.pop_front();
            self.lost.set(self.lost.get() + 1);
        }
        events.push_back(event);
    }

    /// All that are kept, the oldest first, and how many are not.
    pub(crate) fn snapshot(&self) -> (Vec<Event>, u64) {
        (self.events.borrow().iter().cloned().collect(), self.lost.get())
    }
}

#[cfg(test)]
mod tests {
    use super::super::What;
    use super::*;
    use crate::Time;

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let ring = Ring::new(2);
        for at in 1..=5 {
            ring.add(Event { at: Time::from_nanos(at), core: 0, by: None, what: What::Runs });
        }
        let (events, lost) = ring.snapshot();
        assert_eq!(events.iter().map(|event| event.at.as_nanos()).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(lost, 3);
    }
}
