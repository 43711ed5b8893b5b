//! Looking for what another thread is about to do, instead of parking at once.
//!
//! A core with nothing else to do listens for a moment before it sleeps. If its last coroutine knows
//! what it waits for, it can do that listening itself, and then needs no message: neither a park nor a
//! wake. Between two looks it leaves whatever it looks at alone, so that the other side gets on: what
//! it finds then is often a batch.
//!
//! Nobody else may be kept from running by this: a core that has anyone ready, or descriptors to
//! attend to, does not listen. Nor does one in virtual time, or under exploration, where everything that
//! happens is a choice.

use core::time::Duration;
use std::time::Instant;

use super::Core;
use crate::raw::entered::{self, Here};
use crate::world;

/// Between two looks.
const GAP: Duration = Duration::from_nanos(1_500);
/// How often it looks.
const LOOKS: u32 = 5;

/// Calls `look` again and again for some microseconds, until it says that it has found something; only
/// if nothing else can run here meanwhile. Whether something was found.
///
/// For those who wait for other threads, before they park: `look` must neither park nor wake anyone.
#[inline(never)]
pub fn listen(mut look: impl FnMut() -> bool) -> bool {
    if cfg!(loom) || world::is_near() {
        return false;
    }
    entered::here(|here| match here {
        Here::Stack(inside) if inside.core.would_listen() => {
            looks(|| (!inside.core.is_busy()).then(&mut look))
        }
        Here::Thread => looks(|| Some(look())),
        _ => false,
    })
}

/// `None` ends it in vain.
fn looks(mut look: impl FnMut() -> Option<bool>) -> bool {
    let start = Instant::now();
    for round in 1..=LOOKS {
        while start.elapsed() < GAP * round {
            core::hint::spin_loop();
        }
        match look() {
            Some(false) => {}
            found => return found.is_some(),
        }
    }
    false
}

impl Core {
    /// Whether it would listen now if its coroutine parked.
    fn would_listen(&self) -> bool {
        !self.is_busy() && !self.platform.is_virtual() && !self.attention.is_on()
    }
}
