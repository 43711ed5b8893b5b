//! Where synchronisers are made.

use std::sync::Arc;

use crate::shared::Shared;
use crate::{System, Threadless};

/// Where a synchroniser is made: a [`System`] or a [`Threadless`] one, perhaps in an [`Arc`]. Nothing else
/// is one.
///
/// In a threadless one whoever waits runs the coroutines of the synchroniser itself, so that a call which need not
/// wait costs no change of threads. Code of users that runs in it (methods of monitors, bodies of chords)
/// must not block there: it would block the system.
///
/// # Examples
/// ```
/// use leno_flexible::{Threadless, synchroniser::Semaphore};
///
/// let system = Threadless::new();
/// let seats = Semaphore::new(&system, "seats", 2);
/// let (_first, _second) = (seats.hold()?, seats.hold()?);
/// assert_eq!(seats.count(), 0);
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub trait Ground {
    #[doc(hidden)]
    fn site(&self) -> Site;
}

/// A system of either kind, of which nothing can be seen.
#[doc(hidden)]
#[derive(Clone)]
pub struct Site {
    pub(super) shared: Arc<Shared>,
    pub(super) is_threadless: bool,
}

impl Ground for System {
    fn site(&self) -> Site {
        Site { shared: self.shared().clone(), is_threadless: false }
    }
}

impl Ground for Threadless {
    fn site(&self) -> Site {
        Site { shared: self.shared().clone(), is_threadless: true }
    }
}

impl<G: Ground> Ground for Arc<G> {
    fn site(&self) -> Site {
        (**self).site()
    }
}
