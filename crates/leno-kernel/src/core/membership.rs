//! Which system a core belongs to, its place among that system's cores, and what a layer above keeps with it.
//!
//! Invariants:
//! - A core is of one system from its beginning to its end. With others it has a place in a team, whose name is the
//!   system's; alone it has a name of its own.
//! - Nothing is borrowed when an extension is dropped: it is a layer's, and may hold what is a user's.
//!
//! Not here: what a team does ([`crate::system`]).

use core::any::Any;
use core::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::Core;
use crate::Object;
use crate::system::Team;

/// See the module.
pub(crate) struct Membership {
    /// Names its system, unless its team does.
    alone: Object,
    place: Option<TeamPlace>,
    /// Whether the core, which is alone, is stopping.
    is_stopping: Cell<bool>,
    /// What a layer above keeps with the system.
    extension: RefCell<Option<Rc<dyn Any>>>,
}

/// A core's place in a team.
pub(crate) struct TeamPlace {
    pub(crate) team: Arc<Team>,
    pub(crate) place: usize,
}

impl Membership {
    /// In a team, or alone.
    pub(super) fn new(place: Option<TeamPlace>) -> Membership {
        Membership {
            alone: Object::local(),
            place,
            is_stopping: Cell::new(false),
            extension: RefCell::new(None),
        }
    }

    /// Its place in a team, if it has other cores.
    #[inline(always)]
    pub(crate) fn place(&self) -> &Option<TeamPlace> {
        &self.place
    }

    /// Its team, if it has other cores.
    #[inline(always)]
    pub(crate) fn team(&self) -> Option<&Arc<Team>> {
        self.place.as_ref().map(|own| &own.team)
    }

    #[inline(always)]
    pub(super) fn has_team(&self) -> bool {
        self.place.is_some()
    }

    /// Whether something has not started that its team has for it.
    #[inline(always)]
    pub(super) fn has_work(&self) -> bool {
        self.place.as_ref().is_some_and(|own| own.team.has_work(own.place))
    }

    /// Whether a coroutine that is spawned ends before it starts.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.get() || self.team().is_some_and(|team| team.is_stopping())
    }

    /// A core that is alone begins to stop, or has stopped.
    pub(crate) fn set_stopping(&self, is_stopping: bool) {
        self.is_stopping.set(is_stopping);
    }

    /// What a layer above keeps with the system.
    pub(crate) fn extension(&self) -> Option<Rc<dyn Any>> {
        self.extension.borrow().clone()
    }

    /// Keeps something for a layer above; what was kept before is the caller's.
    #[must_use = "dropping it is a layer's business"]
    pub(crate) fn extend(&self, extension: Option<Rc<dyn Any>>) -> Option<Rc<dyn Any>> {
        self.extension.replace(extension)
    }
}

impl Core {
    /// Names its system.
    pub(crate) fn system(&self) -> Object {
        self.membership.team().map_or(self.membership.alone, |team| team.name)
    }
}
