//! Progress that must be made: a monitor is hot while something is owed.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use leno_kernel::{Name, log};

use crate::hook::Baggage;
use crate::tell;

/// What the recorder sees of a monitor.
struct Heat {
    name: Name,
    /// For how many operations it has been hot; `None` if it is cold.
    hot: Cell<Option<u64>>,
}

/// The monitors of one run.
#[derive(Clone, Default)]
pub(crate) struct Heats(Rc<RefCell<Vec<Rc<Heat>>>>);

/// Watches that progress is made: while it is *hot*, something is owed. A run in which it stays hot
/// for longer than the explorer's patience, or to the end, has failed.
///
/// # Examples
/// ```
/// use leno_explore::{Explorer, Monitor};
///
/// let result = Explorer::new().runs(1).run(|| {
///     let monitor = Monitor::new("a request is answered");
///     monitor.hot();
/// });
/// assert!(result.unwrap_err().to_string().contains("a request is answered"));
/// ```
pub struct Monitor(Rc<Heat>);

impl Monitor {
    /// A cold one. Outside an exploration nobody watches it.
    pub fn new(name: impl Into<Name>) -> Monitor {
        let heat = Rc::new(Heat { name: name.into(), hot: Cell::new(None) });
        if let Some(baggage) = Baggage::here() {
            baggage.heats.0.borrow_mut().push(heat.clone());
        }
        Monitor(heat)
    }

    /// Something is owed now.
    #[track_caller]
    pub fn hot(&self) {
        self.tells("is owed", Location::caller());
        self.0.hot.set(Some(self.0.hot.get().unwrap_or(0)));
    }

    /// Nothing is owed any more.
    #[track_caller]
    pub fn cold(&self) {
        self.tells("is no longer owed", Location::caller());
        self.0.hot.set(None);
    }

    fn tells(&self, what: &str, site: &'static Location<'static>) {
        if log::is_on() {
            let name = self.0.name.as_str().unwrap_or("?");
            tell::about_to(&format!("'{name}' {what}"), site);
        }
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, hot) = (self.0.name.as_str().unwrap_or("?"), self.0.hot.get());
        write!(f, "Monitor('{name}', {})", if hot.is_some() { "hot" } else { "cold" })
    }
}

impl Heats {
    /// Forgets the monitors of the last run.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// One more operation; the name of a monitor that has been hot for longer than `patience`.
    pub(crate) fn tick(&self, patience: u64) -> Option<Name> {
        self.0.borrow().iter().find_map(|heat| {
            let hot = heat.hot.get()? + 1;
            heat.hot.set(Some(hot));
            (hot > patience).then(|| heat.name.clone())
        })
    }

    /// The name of a monitor that is hot.
    pub(crate) fn left_hot(&self) -> Option<Name> {
        let heats = self.0.borrow();
        let hot = heats.iter().find(|heat| heat.hot.get().is_some())?;
        Some(hot.name.clone())
    }
}
