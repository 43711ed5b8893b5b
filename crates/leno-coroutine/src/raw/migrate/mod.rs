//! Coroutines that may change threads.
//!
//! # The protocol
//! A migrant has a *claim*: one atomic word with its owner (a thread's number), its phase, and
//! reasons not to be taken. Whoever moves the phase to Running has the coroutine to itself.
//!
//! ```text
//!   word            by                        with
//!   (A, Offered)    -> (A, Running)   owner   compare-and-swap, acquire: to run it, or look at it
//!   (A, Running)    -> (A, Offered)   owner   store, release: it was left, on another stack
//!   (A, Running)    -> Finished       owner   store, release
//!   (A, Offered)    -> (B, Running)   thief B compare-and-swap, acquire: one try, no waiting
//!   (B, Running)    -> (B, Offered)   thief B store, release: it is in B's ring
//! ```
//! The race it must win: the owner goes to run a migrant while a thief takes it. Both need the
//! word to be (A, Offered), and one compare-and-swap succeeds. A member is offered by whoever runs
//! after it, once its stack has been left; an asymmetric one by its resumer, who is on another
//! stack anyway. Locks and pinned sections are counted in the block while it runs and copied into
//! the word when it is offered, so a thief refuses without touching the block.
//!
//! A stolen member's entry stays in its old ring's queue. An entry holds the claim, not the block,
//! so it can find out that it is stale: the owner is another thread, or the member's place is
//! another entry's (it was stolen back).
//!
//! Rejected: a lock per coroutine (the owner's fast path would pay), unlinking from the victim's
//! ring (the thief would need the victim's queue).

mod lock;
mod member;
mod migrant;

use core::ptr::NonNull;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::Arc;

use leno_context::control::{Control, pins};
use leno_context::{Name, Status, thread};

pub use lock::{Guard, Lock, OwnedGuard, pinned};
pub use member::Migrant as MemberMigrant;
pub use migrant::Migrant;

use crate::migrate::StealError;
use crate::ring::{Member, MemberKind};

const OFFERED: u64 = 0;
const RUNNING: u64 = 1;
const FINISHED: u64 = 2;
const PHASE: u64 = 3;
const LOCKED: u64 = 4;
const PINNED: u64 = 8;
const OWNER_SHIFT: u32 = 32;

/// Who may run a migrant; see the module.
#[derive(Debug)]
pub(crate) struct Claim {
    word: AtomicU64,
    control: NonNull<Control>,
    id: u64,
    name: Name,
}

// SAFETY: the block is used only by whoever has moved the word to Running, or by its owner while
// it runs; the word orders these.
unsafe impl Send for Claim {}
// SAFETY: as above.
unsafe impl Sync for Claim {}

/// Why a migrant could not be taken.
enum Refused {
    Finished,
    OtherThread,
    Running,
}

fn me() -> u64 {
    u64::from(thread::current().number())
}

impl Claim {
    /// A claim on a coroutine that was just made here, not offered yet.
    fn new(control: NonNull<Control>) -> Claim {
        // SAFETY: just made.
        let block = unsafe { control.as_ref() };
        leno_context::control::set_wandering(block);
        // It is nobody's in particular: not counted with this thread's coroutines.
        thread::current().count_live(-1);
        let word = AtomicU64::new(me() << OWNER_SHIFT | RUNNING);
        Claim { word, control, id: block.id(), name: block.name().clone() }
    }

    /// The claim of a member that is ours.
    pub(crate) fn of(block: &Control) -> Arc<Claim> {
        let claim = block.extra.get().cast::<Claim>();
        // SAFETY: a live migrant keeps its claim alive.
        unsafe { Arc::increment_strong_count(claim) };
        // SAFETY: the count was just raised.
        unsafe { Arc::from_raw(claim) }
    }

    /// The claim of a member that is ours and about to be released: takes over its count.
    pub(crate) fn leave(block: &Control) -> Arc<Claim> {
        let claim = block.extra.replace(core::ptr::null_mut()).cast::<Claim>();
        thread::current().count_live(1);
        // SAFETY: a live migrant holds a count, now handed over.
        unsafe { Arc::from_raw(claim) }
    }

    /// The coroutine's id.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    fn shown(&self) -> String {
        self.name.or_id(self.id).to_string()
    }

    fn status(&self) -> Status {
        Status::with_id(self.control, self.id)
    }

    /// The member this is the claim of.
    pub(crate) fn member(&self) -> Member {
        let thread = (self.word.load(Relaxed) >> OWNER_SHIFT) as u32;
        Member { status: self.status(), thread, kind: MemberKind::Migrant }
    }

    /// Takes it, if it is offered and this thread's; the word to put back if it is only looked at.
    fn take(&self) -> Result<u64, Refused> {
        let owner = me() << OWNER_SHIFT;
        let word = self.word.load(Relaxed);
        if word & PHASE == FINISHED {
            return Err(Refused::Finished);
        }
        if word >> OWNER_SHIFT << OWNER_SHIFT != owner {
            return Err(Refused::OtherThread);
        }
        if word & PHASE != OFFERED {
            return Err(Refused::Running);
        }
        match self.word.compare_exchange(word, owner | RUNNING, Acquire, Relaxed) {
            Ok(_) => Ok(word),
            // Only a thief changes the word of an offered coroutine that is ours.
            Err(_) => Err(Refused::OtherThread),
        }
    }

    /// Takes it for the ring that found it at `place` of its queue, unless that entry is stale.
    pub(crate) fn take_from_queue(&self, place: u64) -> Option<NonNull<Control>> {
        let word = self.take().ok()?;
        // SAFETY: ours now.
        if unsafe { self.control.as_ref() }.place.get() != place {
            self.word.store(word, Release);
            return None;
        }
        Some(self.control)
    }

    /// Notes that an entry has moved from one place of this thread's queue to another.
    pub(crate) fn moved_in_queue(&self, from: u64, to: u64) {
        let Ok(word) = self.take() else { return };
        // SAFETY: ours now.
        let place = &unsafe { self.control.as_ref() }.place;
        if place.get() == from {
            place.set(to);
        }
        self.word.store(word, Release);
    }

    /// Offers it, which is ours and has been left, to whoever wants it.
    pub(crate) fn offer(&self, block: &Control) {
        let counted = block.pins.get();
        let locked = if counted & pins::LOCKS != 0 { LOCKED } else { 0 };
        let pinned = if counted >= pins::SECTION { PINNED } else { 0 };
        self.word.store(me() << OWNER_SHIFT | OFFERED | locked | pinned, Release);
    }

    /// Says that it has ended.
    pub(crate) fn finish(&self) {
        self.word.store(FINISHED, Release);
    }

    /// Takes it from another thread: `true` if it is ours now, Running.
    fn steal(&self) -> Result<bool, StealError> {
        let word = self.word.load(Relaxed);
        let name = || self.shown();
        if word & PHASE == FINISHED {
            return Err(StealError::Finished { name: name() });
        }
        if word >> OWNER_SHIFT == me() {
            return Err(StealError::OwnThread { name: name() });
        }
        if word & PHASE == RUNNING {
            return Ok(false);
        }
        if word & LOCKED != 0 {
            return Err(StealError::Locked { name: name() });
        }
        if word & PINNED != 0 {
            return Err(StealError::Pinned { name: name() });
        }
        let mine = me() << OWNER_SHIFT | RUNNING;
        Ok(self.word.compare_exchange(word, mine, Acquire, Relaxed).is_ok())
    }
}
