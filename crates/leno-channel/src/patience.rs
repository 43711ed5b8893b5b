//! How long a thread looks before it sleeps.
//!
//! To put a thread to sleep and wake it takes longer than most partners need to come. So it looks at
//! its bell for some microseconds. A coroutine does so only if nobody else can run on its core: `listen.rs`.
//!
//! It does not give its processor away between looks: Linux lets a thread that has yielded wait long when
//! it is woken next (60 µs instead of 6 in the middle, measured on 6.18).

use std::sync::Arc;

use leno_kernel::Waiter;
use leno_kernel::layer::bell::Bell;

use crate::exchange::First;
use crate::flavour::Flavour;

/// Looks in a row.
const LOOKS: u32 = 48;
/// Then so often, with a pause before each.
const LATER: u32 = 16;
/// Instructions that do nothing in a pause.
const PAUSE: u32 = 32;

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

    /// Looks until the bell is rung, or long enough; then the thread parks.
    #[inline(always)]
    pub(crate) fn spin(self) -> First {
        if let Some(bell) = self.0 {
            look(&bell);
        }
        First::Wait
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
    for _ in 0..LATER {
        if bell.is_rung() {
            return;
        }
        (0..PAUSE).for_each(|_| core::hint::spin_loop());
    }
}
