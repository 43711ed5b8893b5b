//! Who waits for whose reply. Each waits for one at most, so a deadlock is a cycle, found by whoever
//! closes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use leno_kernel::{Co, Name, current_stack};

use super::mailbox::About;

/// Whose reply each coroutine waits for, as far as it waits without a limit.
static WAITS: Mutex<Option<HashMap<u64, Arc<About>>>> = Mutex::new(None);

/// That the calling coroutine waits for a reply; dropped when it does not any more.
pub(super) struct Waits(Option<Co>);

/// Notes that the calling code waits for a reply of this process. If that can never come, because the
/// process waits, over others perhaps, for the calling one: their names, beginning with the process.
pub(super) fn waits_for(callee: &Arc<About>) -> Result<Waits, Vec<Name>> {
    let Some(own) = current_stack() else { return Ok(Waits(None)) };
    let mut waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
    let waits = waits.get_or_insert_default();
    let mut names = Vec::new();
    let mut next = Some(callee);
    while let Some(about) = next {
        names.push(about.name.clone());
        if about.is(own) {
            return Err(names);
        }
        next = waits.get(&about.co_bits());
    }
    waits.insert(own.bits(), callee.clone());
    Ok(Waits(Some(own)))
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(own) = self.0 {
            let mut waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
            let callee = waits.as_mut().and_then(|waits| waits.remove(&own.bits()));
            drop(waits);
            drop(callee);
        }
    }
}
