//! A select's ticket: it stands in several lines, but is met once.
//!
//! ```text
//!   from      to
//!   Waiting   Claimed   by someone who needs several tickets, or has to look first
//!   Waiting   Done      by someone who needs only this one
//!   Claimed   Waiting   the claimant could not have the others
//!   Claimed   Done
//! ```
//!
//! # Protocol
//! - A ticket is claimed or settled by whoever holds the lock of an exchange where it stands in
//!   line, or by its owner.
//! - Several tickets are claimed in the order of their ids. Whoever finds one claimed waits until it
//!   is not: a claimant takes no lock, and waits only for tickets of higher ids, so it comes to an
//!   end. Whoever finds one done releases those that it has.
//! - Done is final. Which alternative it was stands in the same word.

use std::sync::Arc;

use leno_kernel::Object;

use crate::exchange::Seat;
use crate::sync::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Release},
    spin_loop,
};

const WAITING: u32 = 0;
const CLAIMED: u32 = 1;
/// Done, by its owner: no alternative was taken.
const GIVEN_UP: u32 = 2;
/// Done; the number of the alternative is added.
const DONE: u32 = 3;

/// See the module.
pub(crate) struct Ticket {
    /// What its owner waits on; the number is the ticket's id.
    pub(crate) object: Object,
    word: AtomicU32,
}

impl Ticket {
    pub(crate) fn new(object: Object) -> Arc<Ticket> {
        Arc::new(Ticket { object, word: AtomicU32::new(WAITING) })
    }

    /// Takes an alternative, unless one was taken before.
    pub(crate) fn settle(&self, alternative: u32) -> bool {
        self.change(DONE + alternative)
    }

    /// Takes none, unless one was taken before.
    pub(crate) fn give_up(&self) -> bool {
        self.change(GIVEN_UP)
    }

    fn change(&self, to: u32) -> bool {
        loop {
            // With `leno_planted="ticket"` looking and taking are two steps: loom must notice.
            let found = if cfg!(leno_planted = "ticket") {
                let found = self.word.load(Acquire);
                if found == WAITING {
                    self.word.store(to, Release);
                }
                found
            } else {
                self.word.compare_exchange(WAITING, to, AcqRel, Acquire).unwrap_or_else(|word| word)
            };
            match found {
                WAITING => return true,
                CLAIMED => spin_loop(),
                _ => return false,
            }
        }
    }

    /// Keeps all others from it until [`Self::release`] or [`Self::confirm`].
    pub(crate) fn claim(&self) -> bool {
        self.change(CLAIMED)
    }

    pub(crate) fn release(&self) {
        self.word.store(WAITING, Release);
    }

    pub(crate) fn confirm(&self, alternative: u32) {
        self.word.store(DONE + alternative, Release);
    }

    /// Whether it can be met no more.
    pub(crate) fn is_done(&self) -> bool {
        self.word.load(Acquire) >= GIVEN_UP
    }

    /// The alternative that was taken.
    pub(crate) fn taken(&self) -> Option<usize> {
        self.word.load(Acquire).checked_sub(DONE).map(|alternative| alternative as usize)
    }
}

/// Settles all of them, or none: then says which one was done before. No ticket is there twice.
pub(crate) fn settle_all(seats: &mut [&Seat]) -> Result<(), Seat> {
    seats.sort_unstable_by_key(|seat| seat.ticket.object.number());
    for (place, seat) in seats.iter().enumerate() {
        if !seat.ticket.claim() {
            seats[..place].iter().for_each(|seat| seat.ticket.release());
            return Err((*seat).clone());
        }
    }
    seats.iter().for_each(|seat| seat.ticket.confirm(seat.alternative));
    Ok(())
}

/// Whether whoever wants to meet a party may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It may.
    Won,
    /// The other is gone.
    Lost,
    /// It has been met itself, elsewhere.
    Busy,
}

/// Whoever looks for a party to meet.
pub(crate) trait Claimant {
    /// Its own ticket, with which it may stand in the opposite line.
    fn ticket(&self) -> Option<&Ticket>;
    /// Makes sure that both are free, and takes them.
    fn claim(&self, other: Option<&Seat>) -> Claim;
}

/// One that stands in no line.
pub(crate) struct Caller;

impl Claimant for Caller {
    #[inline(always)]
    fn ticket(&self) -> Option<&Ticket> {
        None
    }

    #[inline(always)]
    fn claim(&self, other: Option<&Seat>) -> Claim {
        match other {
            Some(seat) if !seat.ticket.settle(seat.alternative) => Claim::Lost,
            _ => Claim::Won,
        }
    }
}

impl Claimant for Seat {
    fn ticket(&self) -> Option<&Ticket> {
        Some(&self.ticket)
    }

    fn claim(&self, other: Option<&Seat>) -> Claim {
        let Some(other) = other else {
            return if self.ticket.settle(self.alternative) { Claim::Won } else { Claim::Busy };
        };
        match settle_all(&mut [self, other]) {
            Ok(()) => Claim::Won,
            Err(done) if Arc::ptr_eq(&done.ticket, &self.ticket) => Claim::Busy,
            Err(_) => Claim::Lost,
        }
    }
}
