//! A bell: what a thread listens to while it does nothing.
//!
//! Ringing leaves a *permit*: a ring before the wait is not lost, several rings are one. The permit
//! is the bell's own. The platform's (`Thread::unpark`) only ends the sleep, so it does no harm when
//! other code consumes it, or leaves one behind.
//!
//! # Protocol
//! ```text
//!   ring                               wait
//!   R1  rung := true                   W1  if rung: rung := false, done
//!   R2  fence                          W2  asleep := true
//!   R3  if asleep (was it?) := false   W3  fence
//!   R4    unpark the thread            W4  if rung: asleep := false; rung := false, done
//!                                      W5  sleep; go to W4 (asleep is set again if it was reset)
//! ```
//! The race it must win: a ring between W1 and W5. Either R1 is before W4 sees `rung`, or W2 is before
//! R3, which then unparks; the two fences exclude that both look too early.

use core::time::Duration;

use crate::sync::{
    AtomicBool, Mutex,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    Thread, current_thread, fence, lock, park, park_timeout,
};

/// See the module.
pub struct Bell {
    rung: AtomicBool,
    asleep: AtomicBool,
    /// Whoever listens, or has listened last.
    listener: Mutex<Option<Thread>>,
}

impl Bell {
    /// A bell that nobody listens to yet.
    #[cfg(not(loom))]
    pub const fn new() -> Bell {
        Bell {
            rung: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            listener: Mutex::new(None),
        }
    }

    /// The same.
    #[cfg(loom)]
    pub fn new() -> Bell {
        Bell {
            rung: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            listener: Mutex::new(None),
        }
    }

    /// Lets whoever waits, or waits next, go on.
    pub fn ring(&self) {
        self.rung.store(true, Release);
        if !cfg!(leno_planted = "bell") {
            fence(SeqCst);
        }
        if self.asleep.load(Relaxed)
            && self.asleep.swap(false, AcqRel)
            && let Some(thread) = &*lock(&self.listener)
        {
            thread.unpark();
        }
    }

    /// Whether it was rung since the last wait.
    pub fn is_rung(&self) -> bool {
        self.rung.load(Acquire)
    }

    /// Takes the permit, if there is one.
    pub fn take(&self) -> bool {
        self.rung.load(Relaxed) && self.rung.swap(false, AcqRel)
    }

    /// Sleeps until the bell is rung, unless it was.
    pub fn wait(&self) {
        self.wait_by(|_| {
            park();
            true
        });
    }

    /// The same, for at most `limit`. Returns whether it was rung.
    pub fn wait_for(&self, limit: Duration) -> bool {
        let start = std::time::Instant::now();
        self.wait_by(|_| {
            let Some(left) = limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero())
            else {
                return false;
            };
            park_timeout(left);
            true
        })
    }

    /// The same, sleeping by other means, which someone who rings must end: see
    /// [`Self::set_listener`]. `sleep` returns whether to go on waiting.
    fn wait_by(&self, mut sleep: impl FnMut(&Bell) -> bool) -> bool {
        if self.take() {
            return true;
        }
        let own = current_thread();
        {
            let mut listener = lock(&self.listener);
            if listener.as_ref().is_none_or(|thread| thread.id() != own.id()) {
                *listener = Some(own);
            }
        }
        loop {
            self.asleep.store(true, Relaxed);
            fence(SeqCst);
            if self.take() {
                self.asleep.store(false, Relaxed);
                return true;
            }
            if !sleep(self) {
                self.asleep.store(false, Relaxed);
                return self.take();
            }
        }
    }
}

impl Default for Bell {
    fn default() -> Self {
        Bell::new()
    }
}

impl core::fmt::Debug for Bell {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Bell(rung: {})", self.is_rung())
    }
}
