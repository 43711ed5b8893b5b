//! What others may know of a process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{OnceLock, Weak};

use leno_kernel::layer::Sign;
use leno_kernel::{Co, Name, Object, current};

use super::Refusal;
use super::deadlock;

/// What others may know of a process.
pub(crate) struct About {
    pub(crate) name: Name,
    pub(crate) sign: Sign,
    /// Which coroutine it is; 0 before it has started.
    co: AtomicU64,
    /// Its mailbox.
    own: OnceLock<Weak<dyn Fail>>,
}

/// What takes no calls any more when its process fails or exits: a mailbox.
pub(crate) trait Fail: Send + Sync {
    fn fail(&self, why: Refusal);
}

impl About {
    pub(crate) fn new(name: Name) -> About {
        let sign = Sign::new(Object::shared());
        sign.set_name(name.clone());
        About { name, sign, co: AtomicU64::new(0), own: OnceLock::new() }
    }

    /// Its mailbox is there from now on.
    pub(super) fn settle(&self, own: Weak<dyn Fail>) {
        let _ = self.own.set(own);
    }

    /// The process has started, on this coroutine.
    pub(super) fn begin(&self, co: Co) {
        self.co.store(co.bits(), Relaxed);
        deadlock::is_process(co.bits());
    }

    /// Whether this coroutine is the process.
    pub(crate) fn is(&self, co: Co) -> bool {
        self.co.load(Relaxed) == co.bits()
    }

    pub(crate) fn co_bits(&self) -> u64 {
        self.co.load(Relaxed)
    }

    /// An answer is dropped by a panic or an exit. If that is the process's own, it takes no calls any more,
    /// unless it will begin again.
    #[cold]
    pub(crate) fn fails(&self, why: Refusal) {
        if current().is_some_and(|co| self.is(co))
            && let Some(own) = self.own.get().and_then(Weak::upgrade)
        {
            own.fail(why);
        }
    }
}

impl Drop for About {
    fn drop(&mut self) {
        let co = *self.co.get_mut();
        if co != 0 {
            deadlock::is_no_process(co);
        }
    }
}
