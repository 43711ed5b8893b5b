//! What is waited for shows a sign to dumps: its name, who holds it, how many ends it has.
//!
//! Whoever parks may lend the sign of what it waits for ([`park_on`]); a dump reads it while the
//! coroutine is parked. So nothing is registered, and a wait costs two stores more. A sign is data,
//! not code: code of a user could wait, or run the very coroutine that has lent it.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use crate::raw::entered::{self, Here, Visit};
use crate::wait::{self, Wake};
use crate::{Co, Name, Object, Reason, Time, log, user, world};

/// What something that can be waited for shows to dumps. See [`park_on`].
///
/// Its numbers are for readers who look now and then: they order nothing.
pub struct Sign {
    object: Object,
    name: Mutex<Option<Arc<Name>>>,
    /// The coroutine that holds it; 0 if none does, or something else.
    holder: AtomicU64,
    senders: AtomicUsize,
    receivers: AtomicUsize,
}

/// What a sign showed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Shown {
    /// The name.
    pub name: Option<Arc<Name>>,
    /// The coroutine that holds it, if it is a lock and a coroutine does.
    pub holder: Option<Co>,
    /// How many senders it has.
    pub senders: usize,
    /// How many receivers it has.
    pub receivers: usize,
}

impl Sign {
    /// Of something without a name, holders and ends.
    pub const fn new(object: Object) -> Sign {
        Sign {
            object,
            name: Mutex::new(None),
            holder: AtomicU64::new(0),
            senders: AtomicUsize::new(0),
            receivers: AtomicUsize::new(0),
        }
    }

    /// Whose sign it is.
    #[inline(always)]
    pub fn object(&self) -> Object {
        self.object
    }

    /// The name, if it has one.
    pub fn name(&self) -> Option<Arc<Name>> {
        user::lock(&self.name).clone()
    }

    /// Names it.
    pub fn set_name(&self, name: impl Into<Name>) {
        let name = Some(Arc::new(name.into()));
        let mut own = user::lock(&self.name);
        let old = core::mem::replace(&mut *own, name);
        drop(own);
        drop(old);
        if world::is_observed() {
            log::call_by_name(self);
        }
    }

    /// Says who holds it.
    #[inline(always)]
    pub fn set_holder(&self, holder: Option<Co>) {
        self.holder.store(holder.map_or(0, Co::bits), Relaxed);
    }

    /// Says how many ends it has.
    #[inline(always)]
    pub fn set_ends(&self, senders: usize, receivers: usize) {
        self.senders.store(senders, Relaxed);
        self.receivers.store(receivers, Relaxed);
    }

    /// What it shows.
    pub fn look(&self) -> Shown {
        Shown {
            name: self.name(),
            holder: Co::from_bits(self.holder.load(Relaxed)),
            senders: self.senders.load(Relaxed),
            receivers: self.receivers.load(Relaxed),
        }
    }
}

impl core::fmt::Debug for Sign {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // A copy: it is written by code of a user.
        f.debug_struct("Sign").field("object", &self.object).field("shows", &self.look()).finish()
    }
}

/// As [`park`](crate::park); dumps meanwhile show `sign`.
///
/// # Blocking
/// Parks the calling coroutine, or blocks the calling thread.
///
/// # Cancellation
/// Gives [`Wake::Exit`].
///
/// # Panics
/// Inside a future that a core polls.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Object, Reason, dump::Depth};
/// use leno_kernel::layer::{Sign, park_on};
///
/// let system = LocalSystem::new();
/// drop(system.spawn(|| {
///     let door = Sign::new(Object::local());
///     door.set_name("front door");
///     park_on(Reason::Lock(door.object()), &door);
/// }));
/// let _deadlock = system.run();
/// assert!(system.dump(Depth::States).to_string().contains("waiting for lock 'front door'"));
/// ```
#[inline(always)]
#[track_caller]
pub fn park_on(reason: Reason, sign: &Sign) -> Wake {
    world::wait_point();
    entered::visit(ParkOn(reason, sign))
}

struct ParkOn<'a>(Reason, &'a Sign);

impl Visit for ParkOn<'_> {
    type Output = Wake;

    #[inline(always)]
    #[track_caller]
    fn visit(self, here: Here<'_>) -> Wake {
        match here {
            Here::Stack(inside) | Here::Virtual(inside) => {
                inside.task.lent.lend(self.1, || inside.core.park(&inside, self.0))
            }
            _ => wait::park(self.0),
        }
    }
}

/// As [`park_until`](crate::park_until); dumps meanwhile show `sign`.
///
/// # Blocking
/// As [`park_on`], until `deadline` at most.
///
/// # Cancellation
/// Gives [`Wake::Exit`].
///
/// # Panics
/// Inside a future that a core polls.
#[track_caller]
pub fn park_on_until(reason: Reason, sign: &Sign, deadline: Time) -> Wake {
    world::wait_point();
    // A clock is code of a user: asked before the proof is given.
    let asked = (wait::parks(), wait::now());
    entered::here(|here| match here {
        Here::Stack(inside) | Here::Virtual(inside) => {
            inside.task.lent.lend(sign, || inside.core.park_until(&inside, reason, deadline, asked))
        }
        _ => wait::park_until(reason, deadline),
    })
}
