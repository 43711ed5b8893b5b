//! The events of one core: the last so many.

use core::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Event;
use crate::{Name, Object};

/// See the module.
pub(crate) struct Ring {
    events: RefCell<VecDeque<Event>>,
    capacity: usize,
    lost: Cell<u64>,
    /// What objects are called; those that were told longest ago go, if there are more than events.
    names: RefCell<HashMap<Object, Arc<Name>>>,
    told: RefCell<VecDeque<Object>>,
}

impl Ring {
    /// Keeps the last `capacity` events, at least one.
    pub(crate) fn new(capacity: usize) -> Ring {
        let (events, lost, names, told) = Default::default();
        Ring { events, capacity: capacity.max(1), lost, names, told }
    }

    /// An object has this name.
    pub(crate) fn call(&self, object: Object, name: Arc<Name>) {
        let (mut names, mut told) = (self.names.borrow_mut(), self.told.borrow_mut());
        if names.insert(object, name).is_some() {
            return;
        }
        told.push_back(object);
        if told.len() > self.capacity
            && let Some(oldest) = told.pop_front()
        {
            names.remove(&oldest);
        }
    }

    /// What objects are called.
    pub(crate) fn names(&self) -> HashMap<Object, Arc<Name>> {
        self.names.borrow().clone()
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

    #[test]
    fn names_are_kept_for_no_more_objects_than_events() {
        let ring = Ring::new(2);
        let objects = [Object::local(), Object::local(), Object::local()];
        for object in objects {
            ring.call(object, Arc::new("one".into()));
            ring.call(object, Arc::new("other".into()));
        }
        let names = ring.names();
        assert_eq!(objects.map(|object| names.contains_key(&object)), [false, true, true]);
        assert_eq!(names[&objects[2]].as_str(), Some("other"));
    }
}
