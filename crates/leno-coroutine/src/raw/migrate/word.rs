//! The word of a claim: the protocol of the parent module, and nothing else.
//!
//! Safe code on one atomic, so that loom can try every interleaving of it (see `tests` below).

use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

const OFFERED: u64 = 0;
const RUNNING: u64 = 1;
const FINISHED: u64 = 2;
const PHASE: u64 = 3;
const LOCKED: u64 = 4;
const PINNED: u64 = 8;
const OWNER_SHIFT: u32 = 32;

/// With `LENO_PLANTED=offer` the hand-over is not ordered: loom must notice.
fn offer() -> crate::sync::Ordering {
    if leno_context::is_planted("offer") { Relaxed } else { Release }
}

/// Owner, phase and reasons not to be taken.
#[derive(Debug)]
pub(super) struct ClaimWord(AtomicU64);

/// Why a migrant could not be taken by its owner.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Finished,
    OtherThread,
    Running,
}

/// A coroutine that is ours now; what its word was before.
#[derive(Debug)]
pub(super) struct Taken(u64);

/// What became of an attempt to steal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Theft {
    Taken,
    Busy,
    Finished,
    OwnThread,
    Locked,
    Pinned,
}

fn owned_by(thread: u32) -> u64 {
    u64::from(thread) << OWNER_SHIFT
}

impl ClaimWord {
    /// The word of a coroutine that `owner` has to itself.
    pub(super) fn running(owner: u32) -> ClaimWord {
        ClaimWord(AtomicU64::new(owned_by(owner) | RUNNING))
    }

    /// Whose it is; a moment later it may be another's.
    pub(super) fn owner(&self) -> u32 {
        (self.0.load(Relaxed) >> OWNER_SHIFT) as u32
    }

    /// Takes it, if it is offered and `me`'s.
    pub(super) fn take(&self, me: u32) -> Result<Taken, Refused> {
        let word = self.0.load(Relaxed);
        if word & PHASE == FINISHED {
            return Err(Refused::Finished);
        }
        if (word >> OWNER_SHIFT) as u32 != me {
            return Err(Refused::OtherThread);
        }
        if word & PHASE != OFFERED {
            return Err(Refused::Running);
        }
        match self.0.compare_exchange(word, owned_by(me) | RUNNING, Acquire, Relaxed) {
            Ok(_) => Ok(Taken(word)),
            // Only a thief changes the word of an offered coroutine that is ours.
            Err(_) => Err(Refused::OtherThread),
        }
    }

    /// Undoes [`Self::take`]: it was only looked at.
    pub(super) fn put_back(&self, taken: Taken) {
        self.0.store(taken.0, offer());
    }

    /// Offers it, which is `me`'s, to whoever wants it.
    pub(super) fn offer(&self, me: u32, locked: bool, pinned: bool) {
        let reasons = if locked { LOCKED } else { 0 } | if pinned { PINNED } else { 0 };
        self.0.store(owned_by(me) | OFFERED | reasons, offer());
    }

    /// Says that it has ended.
    pub(super) fn finish(&self) {
        self.0.store(FINISHED, Release);
    }

    /// Takes it from another thread: then it is `me`'s, running.
    pub(super) fn steal(&self, me: u32) -> Theft {
        let word = self.0.load(Relaxed);
        if word & PHASE == FINISHED {
            return Theft::Finished;
        }
        if (word >> OWNER_SHIFT) as u32 == me {
            return Theft::OwnThread;
        }
        if word & PHASE == RUNNING {
            return Theft::Busy;
        }
        if word & LOCKED != 0 {
            return Theft::Locked;
        }
        if word & PINNED != 0 {
            return Theft::Pinned;
        }
        match self.0.compare_exchange(word, owned_by(me) | RUNNING, Acquire, Relaxed) {
            Ok(_) => Theft::Taken,
            Err(_) => Theft::Busy,
        }
    }
}

#[cfg(test)]
mod tests;
