//! Effects on the world: handed out until they are confirmed.

use std::fmt::Display;

use crate::error::SessionError;
use crate::metrics::Counters;
use crate::sessions::Sessions;
use crate::store::Effect;

impl Sessions {
    /// Does what steps have left to be done in the world: `do_it` is called for up to `most` effects that were not
    /// confirmed, the oldest first, and those it does not refuse are confirmed. Tells how many those were.
    ///
    /// If the process dies in between, an effect is handed out again, after a lease's time: it is done at least once.
    /// [`Effect::key`] is the same each time, so tell it to whatever does it, and it is done once.
    ///
    /// # Errors
    /// If the store fails.
    pub fn deliver<E: Display>(
        &self,
        most: usize,
        mut do_it: impl FnMut(&Effect) -> Result<(), E>,
    ) -> Result<usize, SessionError> {
        let effects = self.patiently(|| self.store.outbox(most, self.pace.ttl))?;
        let (done, refused): (Vec<_>, Vec<_>) =
            effects.iter().partition(|effect| do_it(effect).is_ok());
        let keys: Vec<_> = done.iter().map(|effect| (effect.session, effect.sequence)).collect();
        self.patiently(|| self.store.confirm(&keys))?;
        Counters::add(&self.counters.delivered, done.len());
        Counters::add(&self.counters.undelivered, refused.len());
        Ok(done.len())
    }
}
