//! Effects on the world: handed out until they are confirmed.

use std::fmt::Display;

use leno_context::user;

use crate::error::SessionError;
use crate::metrics::Counters;
use crate::sessions::Sessions;
use crate::store::{Effect, Store};

impl Sessions {
    /// Does what steps have left to be done in the world: `do_it` is called for up to `most` effects that were not
    /// confirmed, the oldest first, and those it does not refuse are confirmed. Tells how many those were.
    ///
    /// If the process dies in between, an effect is handed out again, after a lease's time: it is done at least once.
    /// [`Effect::key`] is the same each time, so tell it to whatever does it, and it is done once.
    ///
    /// # Errors
    /// If the store fails.
    ///
    /// # Panics
    /// If `do_it` does, after what it has done before is confirmed.
    pub fn deliver<E: Display>(
        &self,
        most: usize,
        mut do_it: impl FnMut(&Effect) -> Result<(), E>,
    ) -> Result<usize, SessionError> {
        let effects = self.patiently(|| self.store.outbox(most, self.pace.ttl))?;
        let (mut done, mut refused, mut raised) = (Vec::new(), 0, None);
        for effect in &effects {
            // What it refuses with is dropped here, too.
            match user::call(|| do_it(effect).is_ok()) {
                Ok(true) => done.push((effect.session, effect.sequence)),
                Ok(false) => refused += 1,
                Err(panic) => {
                    raised = Some(panic);
                    break;
                }
            }
        }
        let confirmed = self.patiently(|| self.store.confirm(&done));
        Counters::add(&self.counters.undelivered, refused);
        if let Some(panic) = raised {
            panic.resume();
        }
        confirmed?;
        Counters::add(&self.counters.delivered, done.len());
        Ok(done.len())
    }
}
