//! A bell: what a thread listens to while it does nothing.
//!
//! Ringing leaves a *permit*: a ring before the wait is not lost, several rings are one. The permit
//! is the bell's own. The platform's (`Thread::unpark`) only ends the sleep, so it does no harm when
//! other code consumes it, or leaves one behind.
//!
//! A listener sleeps in one of two ways: its thread is parked, or it has a `Sleeper`, which can be
//! told to end its sleep. A core has one as soon as it watches descriptors: it then sleeps in the
//! system's call for them, and is told through an eventfd.
//!
//! # Protocol
//! ```text
//!   ring                               wait
//!   R1  rung := true                   W1  if rung: rung := false, done
//!   R2  fence                          W2  asleep := true
//!   R3  if asleep (was it?) := false   W3  fence
//!   R4    unpark the thread, or        W4  if rung: asleep := false; rung := false, done
//!         rouse the sleeper            W5  sleep; go to W4 (asleep is set again if it was reset)
//!                                      W5' with a sleeper: sleep; asleep := false; rung := false;
//!                                          serve what has come; done, rung or not
//! ```
//! The race it must win: a ring between W1 and W5. Either R1 is before W4 sees `rung`, or W2 is before
//! R3, which then unparks or rouses; the two fences exclude that both look too early. Both ways of
//! waking are kept for a sleep that has not begun, so R4 may come between W4 and W5. It may also come
//! after the sleep has ended by itself: then the next one ends early, which does no harm. Only the
//! listener changes how it listens, while it is awake; who rings meanwhile has left the permit.

use core::sync::atomic::AtomicU32;
use core::time::Duration;
use std::sync::Arc;

use crate::policy::Hint;
use crate::sync::{
    AtomicBool, Mutex,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    Thread, current_thread, fence, lock, park, park_timeout,
};

use crate::{Co, wait, world};

/// See the module.
pub struct Bell {
    rung: AtomicBool,
    asleep: AtomicBool,
    /// How often someone has waited; wraps around. For the listener alone, so it orders nothing.
    waits: AtomicU32,
    /// Whoever listens, or has listened last.
    listener: Mutex<Option<Listener>>,
}

/// Whoever listens to a bell.
enum Listener {
    Thread(Thread),
    Sleeper(Arc<dyn Sleeper>),
    /// A thread of a world.
    Virtual(Co),
}

impl Listener {
    /// Wakes a thread. A thread of a world is for the caller to wake when the lock is free: a driver is told
    /// of that.
    fn wake(&self) -> Option<Co> {
        match self {
            Listener::Thread(thread) => thread.unpark(),
            Listener::Sleeper(sleeper) => sleeper.rouse(),
            Listener::Virtual(co) => return Some(*co),
        }
        None
    }
}

/// Sleeps by other means than parking the thread.
pub(crate) trait Sleeper: Send + Sync {
    /// Sleeps until it is roused, for at most `limit`, or until there is something to serve. It may
    /// come back early.
    fn sleep(&self, limit: Option<Duration>);
    /// Ends the sleep, or the next one.
    fn rouse(&self);
    /// Does what the sleep has brought.
    fn serve(&self);
}

impl Bell {
    /// A bell that nobody listens to yet.
    #[cfg(not(loom))]
    pub const fn new() -> Bell {
        Bell {
            rung: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            waits: AtomicU32::new(0),
            listener: Mutex::new(None),
        }
    }

    /// The same.
    #[cfg(loom)]
    pub fn new() -> Bell {
        Bell {
            rung: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            waits: AtomicU32::new(0),
            listener: Mutex::new(None),
        }
    }

    /// Lets whoever waits, or waits next, go on.
    pub fn ring(&self) {
        self.rung.store(true, Release);
        if !leno_context::is_planted("bell") {
            fence(SeqCst);
        }
        if self.asleep.load(Relaxed) && self.asleep.swap(false, AcqRel) {
            let left = lock(&self.listener).as_ref().and_then(Listener::wake);
            if let Some(co) = left {
                wait::unpark_quietly(co, Hint::Back);
            }
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

    /// Takes the permit, if there is one, which then counts as a wait: it may be meant for code that waits next, and
    /// that looks again.
    pub(crate) fn take_early(&self) {
        if self.take() {
            self.waits.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Sleeps until the bell is rung, unless it was. A core's bell also lets its core go on when a
    /// descriptor that the core watches has become ready.
    pub fn wait(&self) {
        self.wait_up_to(None);
    }

    /// The same, for at most `limit`. Returns whether it was rung.
    pub fn wait_for(&self, limit: Duration) -> bool {
        self.wait_up_to(Some(limit))
    }

    /// As it was made. Nobody listens.
    pub(crate) fn reset(&self) {
        self.rung.store(false, Relaxed);
        self.asleep.store(false, Relaxed);
        let old = lock(&self.listener).take();
        drop(old);
    }

    /// A thread of a world listens, and parks next.
    pub(crate) fn listen_as(&self, co: Co) {
        *lock(&self.listener) = Some(Listener::Virtual(co));
        self.asleep.store(true, Relaxed);
    }

    /// That thread does something else: nobody is to wake it for this bell.
    pub(crate) fn listen_no_more(&self) {
        self.asleep.store(false, Relaxed);
    }

    /// Returns how often someone has waited, or taken a permit early.
    pub(crate) fn waits(&self) -> u32 {
        self.waits.load(core::sync::atomic::Ordering::Relaxed)
    }

    fn wait_up_to(&self, limit: Option<Duration>) -> bool {
        self.waits.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        if let Some(rung) = world::wait_for_bell(self, limit) {
            return rung;
        }
        if self.take() {
            return true;
        }
        match self.listen() {
            None => self.wait_parked(limit),
            Some(sleeper) => self.wait_asleep(&*sleeper, limit),
        }
    }

    /// From now on the calling thread listens; with what it sleeps, if not parked.
    fn listen(&self) -> Option<Arc<dyn Sleeper>> {
        let mut listener = lock(&self.listener);
        match &*listener {
            Some(Listener::Sleeper(sleeper)) => return Some(sleeper.clone()),
            Some(Listener::Thread(thread)) if thread.id() == current_thread().id() => {}
            _ => *listener = Some(Listener::Thread(current_thread())),
        }
        None
    }

    /// Has the calling thread, which alone listens to this bell, sleep like this from now on.
    pub(crate) fn set_sleeper(&self, sleeper: Option<Arc<dyn Sleeper>>) {
        let old = core::mem::replace(&mut *lock(&self.listener), sleeper.map(Listener::Sleeper));
        drop(old);
    }

    /// W2 to W4: whether it was rung after all.
    fn fall_asleep(&self) -> bool {
        self.asleep.store(true, Relaxed);
        fence(SeqCst);
        let rung = self.take();
        if rung {
            self.asleep.store(false, Relaxed);
        }
        rung
    }

    fn wait_parked(&self, limit: Option<Duration>) -> bool {
        let end = limit.map(|limit| (limit, std::time::Instant::now()));
        while !self.fall_asleep() {
            let Some((limit, start)) = end else {
                park();
                continue;
            };
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                self.asleep.store(false, Relaxed);
                return self.take();
            }
            park_timeout(left);
        }
        true
    }

    fn wait_asleep(&self, sleeper: &dyn Sleeper, limit: Option<Duration>) -> bool {
        if self.fall_asleep() {
            return true;
        }
        sleeper.sleep(limit);
        self.asleep.store(false, Relaxed);
        let rung = self.take();
        sleeper.serve();
        rung
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
