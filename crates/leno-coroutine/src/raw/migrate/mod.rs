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
mod word;

use core::ptr::NonNull;
use std::sync::Arc;

use leno_context::control::{Control, pins};
use leno_context::{Name, Status, thread};

pub use lock::{Guard, Lock, OwnedGuard, pinned};
pub use member::Migrant as MemberMigrant;
pub use migrant::Migrant;
use word::{ClaimWord, Refused, Taken, Theft};

use crate::migrate::StealError;
use crate::ring::{Member, MemberKind};

/// Who may run a migrant; see the module.
#[derive(Debug)]
pub(crate) struct Claim {
    word: ClaimWord,
    control: NonNull<Control>,
    id: u64,
    name: Name,
}

// SAFETY: the block is used only by whoever has moved the word to Running, or by its owner while
// it runs; the word orders these.
unsafe impl Send for Claim {}
// SAFETY: as above.
unsafe impl Sync for Claim {}

fn me() -> u32 {
    thread::current().number()
}

impl Claim {
    /// A claim on a coroutine that was just made here, not offered yet.
    fn new(control: NonNull<Control>) -> Claim {
        // SAFETY: just made.
        let block = unsafe { control.as_ref() };
        leno_context::control::set_wandering(block);
        // It is nobody's in particular: not counted with this thread's coroutines.
        // SAFETY: it does not belong to this thread.
        unsafe { thread::current().count_live(-1) };
        Claim {
            word: ClaimWord::running(me()),
            control,
            id: block.id(),
            name: block.name().clone(),
        }
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
        // SAFETY: it is ours, and counted out when it is released.
        unsafe { thread::current().count_live(1) };
        // SAFETY: a live migrant holds a count, now handed over.
        unsafe { Arc::from_raw(claim) }
    }

    /// The coroutine's id.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether it belongs to this thread; a moment later it may be another's.
    pub(crate) fn is_ours(&self) -> bool {
        self.word.owner() == me()
    }

    fn shown(&self) -> String {
        self.name.or_id(self.id).to_string()
    }

    fn status(&self) -> Status {
        // SAFETY: the block it was made with.
        unsafe { Status::with_id(self.control, self.id) }
    }

    /// The member this is the claim of.
    pub(crate) fn member(&self) -> Member {
        let (thread, kind) = (self.word.owner(), MemberKind::Migrant);
        Member { status: self.status(), thread, kind, name: self.name.clone() }
    }

    /// Takes it, if it is offered and this thread's.
    fn take(&self) -> Result<Taken, Refused> {
        self.word.take(me())
    }

    /// Takes it for the ring that found it at `place` of its queue, unless that entry is stale.
    pub(crate) fn take_from_queue(&self, place: u64) -> Option<NonNull<Control>> {
        let taken = self.take().ok()?;
        // SAFETY: ours now.
        if unsafe { self.control.as_ref() }.place.get() != place {
            self.word.put_back(taken);
            return None;
        }
        Some(self.control)
    }

    /// Notes that an entry has moved from one place of this thread's queue to another.
    pub(crate) fn moved_in_queue(&self, from: u64, to: u64) {
        let Ok(taken) = self.take() else { return };
        // SAFETY: ours now.
        let place = &unsafe { self.control.as_ref() }.place;
        if place.get() == from {
            place.set(to);
        }
        self.word.put_back(taken);
    }

    /// Takes back what was offered; `false` if another thread has it, or had it, by now.
    pub(crate) fn take_back(&self) -> bool {
        self.take().is_ok()
    }

    /// Offers it, which is ours and has been left, to whoever wants it.
    pub(crate) fn offer(&self, block: &Control) {
        let counted = block.pins.get();
        let (locked, pinned) = (counted & pins::LOCKS != 0, counted >= pins::SECTION);
        self.word.offer(me(), locked, pinned);
    }

    /// Says that it has ended.
    pub(crate) fn finish(&self) {
        self.word.finish();
    }

    /// Takes it from another thread: `true` if it is ours now, Running.
    fn steal(&self) -> Result<bool, StealError> {
        let name = self.shown();
        match self.word.steal(me()) {
            Theft::Taken => Ok(true),
            Theft::Busy => Ok(false),
            Theft::Finished => Err(StealError::Finished { name }),
            Theft::OwnThread => Err(StealError::OwnThread { name }),
            Theft::Locked => Err(StealError::Locked { name }),
            Theft::Pinned => Err(StealError::Pinned { name }),
        }
    }
}
