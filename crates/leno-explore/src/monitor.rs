//! Progress that must be made: a monitor is hot while something is owed.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use leno_kernel::{Name, log};

use crate::hook::Baggage;
use crate::tell;

/// What the recorder sees of a monitor.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    pub(crate) name: Name,
    /// For how many operations it has been hot; `None` if it is cold.
    pub(crate) hot: Option<u64>,
}

/// The monitors of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heats(Rc<RefCell<Vec<Rc<RefCell<Heat>>>>>);

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
pub struct Monitor(Rc<RefCell<Heat>>);

impl Monitor {
    /// A cold one. Outside an exploration nobody watches it.
    pub fn new(name: impl Into<Name>) -> Monitor {
        let heat = Rc::new(RefCell::new(Heat { name: name.into(), hot: None }));
        if let Some(baggage) = Baggage::here() {
            baggage.heats.0.borrow_mut().push(heat.clone());
        }
        Monitor(heat)
    }

    /// Something is owed now.
    #[track_caller]
    pub fn hot(&self) {
        self.tells("is owed", Location::caller());
        self.0.borrow_mut().hot.get_or_insert(0);
    }

    /// Nothing is owed any more.
    #[track_caller]
    pub fn cold(&self) {
        self.tells("is no longer owed", Location::caller());
        self.0.borrow_mut().hot = None;
    }

    fn tells(&self, what: &str, site: &'static Location<'static>) {
        if log::is_on() {
            let heat = self.0.borrow();
            tell::about_to(&format!("'{}' {what}", heat.name.as_str().unwrap_or("?")), site);
        }
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Monitor({:?})", self.0.borrow())
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
            let mut heat = heat.borrow_mut();
            let hot = heat.hot.as_mut()?;
            *hot += 1;
            (*hot > patience).then(|| heat.name.clone())
        })
    }

    /// The name of a monitor that is hot.
    pub(crate) fn left_hot(&self) -> Option<Name> {
        let heats = self.0.borrow();
        let hot = heats.iter().find(|heat| heat.borrow().hot.is_some())?;
        Some(hot.borrow().name.clone())
    }
}
