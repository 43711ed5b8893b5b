//! How long a thread looks before it sleeps.
//!
//! To put a thread to sleep and wake it takes longer than most partners need to come. So it looks at
//! its bell for a while, and lets other threads run meanwhile. A coroutine never does this: others of
//! its core can run, and the core itself decides when to sleep.

use std::sync::Arc;

use leno_kernel::Waiter;
use leno_kernel::bell::Bell;

use crate::flavour::Flavour;

/// Looks in a row.
const LOOKS: u32 = 48;
/// Then, with a turn for other threads before each.
const TURNS: u32 = 16;

/// See the module.
pub(crate) struct Patience(Option<Arc<Bell>>);

impl Patience {
    #[inline(always)]
    pub(crate) fn of<F: Flavour>(waiter: &Waiter) -> Patience {
        match waiter {
            Waiter::Thread(bell) if F::SHARED => Patience(Some(bell.clone())),
            _ => Patience(None),
        }
    }

    /// Looks until the bell is rung, or long enough.
    #[inline(always)]
    pub(crate) fn spin(self) {
        if let Some(bell) = self.0 {
            look(&bell);
        }
    }
}

#[inline(never)]
fn look(bell: &Bell) {
    for _ in 0..LOOKS {
        if bell.is_rung() {
            return;
        }
        core::hint::spin_loop();
    }
    for _ in 0..TURNS {
        if bell.is_rung() {
            return;
        }
        std::thread::yield_now();
    }
}
