//! Panics of explored programs are noted, not printed: a failing schedule is run many times.

use std::cell::RefCell;
use std::panic;
use std::rc::Rc;
use std::sync::Once;

use leno_kernel::layer::world;

use crate::monitor::Heats;

/// What the program of a run takes along: its thread may be any, so nothing of it is bound to one.
#[derive(Default)]
pub(crate) struct Baggage {
    pub(crate) heats: Heats,
    /// Where its first panic was.
    first: RefCell<Option<String>>,
}

impl Baggage {
    /// That of the calling code's run.
    pub(crate) fn here() -> Option<Rc<Baggage>> {
        world::baggage()?.downcast().ok()
    }

    pub(crate) fn new(heats: Heats) -> Baggage {
        Baggage { heats, ..Baggage::default() }
    }

    /// Where the first panic was.
    pub(crate) fn take_site(&self) -> Option<String> {
        self.first.take()
    }
}

/// Notes the panics of explored programs from now on; others are reported as before.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let Some(baggage) = Baggage::here() else { return before(info) };
            let site = info.location().map(ToString::to_string);
            baggage.first.borrow_mut().get_or_insert(site.unwrap_or_default());
        }));
    });
}
