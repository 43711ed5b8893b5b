//! Slices that last too long, as other threads see them; for a watchdog.
//!
//! While somebody watches, a core leaves in its [window](crate::window) when the slice that it runs is
//! due, and on which thread. While nobody does, a slice costs one look at a word more.

use core::panic::Location;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use core::time::Duration;

use crate::mailbox;
use crate::window::process_now;
use crate::{Co, Name, Time};

static WATCHERS: AtomicUsize = AtomicUsize::new(0);

/// While this is there, slices are watched; see [`Self::overdue`].
#[derive(Debug)]
pub struct Watch(());

impl Watch {
    /// Slices that begin from now on are watched.
    pub fn begin() -> Watch {
        WATCHERS.fetch_add(1, Relaxed);
        Watch(())
    }

    /// Those that run now, and should have come back this long ago, or longer.
    ///
    /// A slice with a budget of time is due when that is over; others at once.
    pub fn overdue(&self, patience: Duration) -> Vec<Overdue> {
        let now = process_now();
        let late = |(_, window): (_, std::sync::Arc<crate::window::Window>)| {
            let (due, thread) = window.slice()?;
            let late = now.since(Time::from_nanos(due));
            let busy = window.look(late);
            let is_late = now.as_nanos() > due && late >= patience && window.slice()?.0 == due;
            is_late.then(|| Overdue {
                co: busy.co,
                name: busy.name,
                site: busy.site,
                system: window.title.name.clone(),
                late,
                thread,
                due,
            })
        };
        mailbox::with_windows().into_iter().filter_map(late).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHERS.fetch_sub(1, Relaxed);
    }
}

/// A coroutine that should have come back to its scheduler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Overdue {
    /// Who it is.
    pub co: Option<Co>,
    /// Its name.
    pub name: Name,
    /// Where it was spawned.
    pub site: Option<&'static Location<'static>>,
    /// What its system is called.
    pub system: String,
    /// How long ago it should have come back.
    pub late: Duration,
    /// The number that the operating system has for its thread.
    pub thread: i32,
    /// Tells slices apart.
    pub due: u64,
}

#[inline(always)]
pub(crate) fn is_on() -> bool {
    WATCHERS.load(Relaxed) != 0
}
