//! Looking for what another thread is about to do, instead of parking at once.
//!
//! A core with nothing else to do listens for a moment before it sleeps. If its last coroutine knows
//! what it waits for, it can do that listening itself, and then needs no message: neither a park nor a
//! wake. Between two looks it leaves whatever it looks at alone, so that the other side gets on: what
//! it finds then is often a batch.
//!
//! Nobody else may be kept from running by this: a core that has anyone ready, or descriptors to
//! attend to, does not listen. Nor does one in virtual time. In a world, which has no time to spend, to listen is a
//! point: others run, as many and as long as the schedule says, and then there is one look.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use super::Core;
use crate::bell::Bell;
use crate::raw::entered::{self, Here};
use crate::wait::own_bell;
use crate::world;

/// Between two looks.
const GAP: Duration = Duration::from_nanos(1_500);
/// How often it looks.
const LOOKS: u32 = 5;
/// How often it looks at a bell, which is all that the other side writes for it.
const LOOKS_AT_BELL: u32 = 256;

/// Calls `look` again and again for some microseconds, until it says that it has found something; only
/// if nothing else can run here meanwhile. Whether something was found.
///
/// For those who wait for other threads, before they park: `look` must neither park nor wake anyone.
#[inline(never)]
pub fn listen(mut look: impl FnMut() -> bool) -> bool {
    if cfg!(loom) {
        return false;
    }
    let would_listen = entered::here(|here| match here {
        Here::Stack(inside) => inside.core.would_listen(),
        Here::Thread | Here::Virtual(_) => true,
        Here::Future(..) => false,
    });
    // A look is code of a user, which may suspend the code that listens: nothing refers to the core meanwhile.
    let mut look = || is_quiet().then(&mut look);
    match would_listen {
        true if world::listens() => look() == Some(true),
        true => looks(look),
        false => false,
    }
}

/// Whether nobody else is kept from running by the calling code.
fn is_quiet() -> bool {
    entered::here(|here| match here {
        Here::Stack(inside) => !inside.core.is_busy(),
        Here::Thread | Here::Virtual(_) => true,
        Here::Future(..) => false,
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

/// The bell of the calling thread, if the coroutine that runs there may [`listen_at`] it before it parks:
/// nothing else can run on its core now. Whoever is to end its wait rings the bell instead of unparking it.
pub fn bell_to_listen_at() -> Option<Arc<Bell>> {
    if cfg!(loom) {
        return None;
    }
    entered::here(|here| match here {
        Here::Stack(inside) if inside.core.would_listen() => {
            let bell = own_bell();
            // One that came late, for a wait that is over; or, where a system runs inside of a wait, for that one.
            bell.take_early();
            Some(bell)
        }
        _ => None,
    })
}

/// Looks at a bell for some microseconds, until it is rung or something else can run here.
#[inline(never)]
pub fn listen_at(bell: &Bell) {
    if world::listens() {
        return;
    }
    entered::here(|here| {
        let Here::Stack(inside) = here else { return };
        for _ in 0..LOOKS_AT_BELL {
            if bell.is_rung() || inside.core.is_busy() {
                return;
            }
            core::hint::spin_loop();
        }
    });
}

impl Core {
    /// Whether it would listen now if its coroutine parked.
    fn would_listen(&self) -> bool {
        !self.is_busy() && !self.clock.is_virtual() && !self.attention.is_on()
    }
}
