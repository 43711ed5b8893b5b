//! A select's ticket: it stands in several lines, but is met once.
//!
//! ```text
//!   from             to
//!   Waiting          Claimed   by someone who needs several tickets
//!   Waiting          Done      by someone who needs only this one
//!   Claimed          Waiting   the claimant could not have the others
//!   Claimed          Done
//!   Waiting          Asking    by its owner, which is about to ask a source
//!   Asking           Noted     by someone who would have met it
//!   Asking, Noted    Waiting   by its owner: the source had nothing
//!   Asking, Noted    Done      by its owner: the source had something
//! ```
//!
//! # Protocol
//! - A ticket is claimed, settled or noted by whoever holds the lock of an exchange where it stands in
//!   line, or by its owner.
//! - Several tickets are claimed in the order of their ids. Whoever finds one claimed waits until it
//!   is not: a claimant takes no lock, calls no user code, and waits only for tickets of higher ids, so it
//!   comes to an end. Whoever finds one done, or asking, releases those that it has.
//! - Nobody waits for a ticket that asks: a source is user code, which may take any time, use the very
//!   channels where the ticket stands, or never return. A partner that finds it so leaves a note, marks the
//!   party as passed over, and goes on as if that were not there: it meets another, stores its value, stands in
//!   line or closes the channel. All of that is done under one lock.
//! - A noted ticket whose source had nothing is *late*: its owner looks at each exchange where it stands, under
//!   its lock, before it parks, and has those meet who could have met (`exchange/reconcile.rs`). It takes these
//!   locks after the partner has released them, so nothing is missed. Until it has looked at an exchange where it
//!   was passed over, everyone there passes it over, and what was stored is not overtaken.
//! - Done is final. Which alternative it was stands in the same word.
//! - A ticket is used again, under another id, only when its owner has the last reference to it: then
//!   it stands in no line, and nobody is about to claim it.

#[cfg(not(loom))]
use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

use leno_kernel::Object;

use crate::exchange::Coupon;
use crate::sync::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Release},
    spin_loop,
};

const WAITING: u32 = 0;
const CLAIMED: u32 = 1;
const ASKING: u32 = 2;
const NOTED: u32 = 3;
/// Done, by its owner: no alternative was taken.
const GIVEN_UP: u32 = 4;
/// Done; the number of the alternative is added.
const DONE: u32 = 5;

/// How many tickets a thread keeps.
const KEPT: usize = 32;

/// See the module.
#[derive(Debug)]
pub struct Ticket {
    /// What its owner waits on; the number is the ticket's id.
    pub(crate) object: Object,
    word: AtomicU32,
    /// It was noted, and its owner has not looked at all lines since. Only its owner uses it.
    late: AtomicBool,
}

/// What became of an attempt to change a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was waiting, and is changed.
    Made,
    /// It was done before.
    Done,
    /// Its owner asks a source; a note is left.
    Asking,
}

impl Ticket {
    fn new(object: Object) -> Ticket {
        Ticket { object, word: AtomicU32::new(WAITING), late: AtomicBool::new(false) }
    }

    /// One that is waiting: a used one, if this thread has any.
    pub(crate) fn take(object: Object) -> Arc<Ticket> {
        if let Some(mut used) = kept(Vec::pop)
            && let Some(ticket) = Arc::get_mut(&mut used)
        {
            *ticket = Ticket::new(object);
            return used;
        }
        Arc::new(Ticket::new(object))
    }

    /// Keeps one that its owner needs no more, unless others still look at it.
    pub(crate) fn put_away(mut self: Arc<Ticket>) {
        if Arc::get_mut(&mut self).is_some() {
            kept(|all| {
                if all.len() < KEPT {
                    all.push(self);
                }
                None
            });
        }
    }

    /// Takes an alternative, unless one was taken before.
    pub(crate) fn settle(&self, alternative: u32) -> Change {
        self.change(DONE + alternative)
    }

    /// Takes none, unless one was taken before.
    pub(crate) fn give_up(&self) {
        self.change(GIVEN_UP);
    }

    fn change(&self, to: u32) -> Change {
        loop {
            // With `LENO_PLANTED=ticket` looking and taking are two steps: loom must notice.
            let found = if leno_kernel::layer::is_planted("ticket") {
                let found = self.word.load(Acquire);
                if found == WAITING {
                    self.word.store(to, Release);
                }
                found
            } else {
                self.word.compare_exchange(WAITING, to, AcqRel, Acquire).unwrap_or_else(|word| word)
            };
            match found {
                WAITING => return Change::Made,
                CLAIMED => spin_loop(),
                ASKING | NOTED => {
                    if self.note() {
                        return Change::Asking;
                    }
                }
                _ => return Change::Done,
            }
        }
    }

    /// Its owner asks a source, which is user code, until [`Self::has_nothing`] or [`Self::confirm`]. Says
    /// whether it may: it was not met before.
    pub(crate) fn ask(&self) -> bool {
        self.change(ASKING) == Change::Made
    }

    /// The source that was asked had nothing, or panicked: it can be met again.
    pub(crate) fn has_nothing(&self) {
        if self.word.compare_exchange(ASKING, WAITING, AcqRel, Acquire).is_err() {
            self.late.store(true, Relaxed);
            self.word.store(WAITING, Release);
        }
    }

    /// Leaves a note for its owner, if that asks a source; says whether it does.
    pub(crate) fn note(&self) -> bool {
        // With `LENO_PLANTED=note` the owner is not told: loom must notice.
        if leno_kernel::layer::is_planted("note") {
            return self.is_asking();
        }
        let found = self.word.compare_exchange(ASKING, NOTED, AcqRel, Acquire);
        matches!(found, Ok(_) | Err(NOTED))
    }

    /// Whether its owner asks a source.
    pub(crate) fn is_asking(&self) -> bool {
        matches!(self.word.load(Acquire), ASKING | NOTED)
    }

    /// Whether its owner has to look at all lines again.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Relaxed)
    }

    /// Its owner has looked at all lines.
    pub(crate) fn is_late_no_more(&self) {
        self.late.store(false, Relaxed);
    }

    /// Keeps all others from it until [`Self::release`] or [`Self::confirm`].
    fn claim(&self) -> Change {
        self.change(CLAIMED)
    }

    fn release(&self) {
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

/// The tickets that this thread keeps. Not inlined, so that a coroutine that was moved to another thread
/// does not use those of the old one.
#[cfg(not(loom))]
#[inline(never)]
fn kept(f: impl FnOnce(&mut Vec<Arc<Ticket>>) -> Option<Arc<Ticket>>) -> Option<Arc<Ticket>> {
    thread_local!(static KEPT: RefCell<Vec<Arc<Ticket>>> = const { RefCell::new(Vec::new()) });
    // Nothing, when the thread ends.
    KEPT.try_with(|all| f(&mut all.borrow_mut())).ok().flatten()
}

/// loom knows its atomics for one run only.
#[cfg(loom)]
fn kept(f: impl FnOnce(&mut Vec<Arc<Ticket>>) -> Option<Arc<Ticket>>) -> Option<Arc<Ticket>> {
    f(&mut Vec::new())
}

/// A ticket that could not be settled.
pub(crate) struct Unsettled {
    pub(crate) ticket: Arc<Ticket>,
    /// Its owner asks a source; else it was done before.
    is_asking: bool,
}

/// Settles all of them, or none: then says which one was done before, or asks. No ticket is there twice.
pub(crate) fn settle_all(coupons: &mut [&Coupon]) -> Result<(), Unsettled> {
    coupons.sort_unstable_by_key(|coupon| coupon.ticket.object.number());
    for (place, coupon) in coupons.iter().enumerate() {
        let change = coupon.ticket.claim();
        if change != Change::Made {
            coupons[..place].iter().for_each(|coupon| coupon.ticket.release());
            let is_asking = change == Change::Asking;
            return Err(Unsettled { ticket: coupon.ticket.clone(), is_asking });
        }
    }
    coupons.iter().for_each(|coupon| coupon.ticket.confirm(coupon.alternative));
    Ok(())
}

/// Whether whoever wants to meet a party may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It may.
    Won,
    /// The other is gone.
    Lost,
    /// The other asks a source, and is told.
    Asking,
    /// It has been met itself, elsewhere.
    Busy,
}

/// Whoever looks for a party to meet.
pub(crate) trait Claimant {
    /// Its own ticket, with which it may stand in the opposite line.
    fn ticket(&self) -> Option<&Ticket>;
    /// Makes sure that both are free, and takes them.
    fn claim(&self, other: Option<&Coupon>) -> Claim;
}

/// One that stands in no line.
pub(crate) struct Caller;

impl Claimant for Caller {
    #[inline(always)]
    fn ticket(&self) -> Option<&Ticket> {
        None
    }

    #[inline(always)]
    fn claim(&self, other: Option<&Coupon>) -> Claim {
        let Some(coupon) = other else { return Claim::Won };
        match coupon.ticket.settle(coupon.alternative) {
            Change::Made => Claim::Won,
            Change::Done => Claim::Lost,
            Change::Asking => Claim::Asking,
        }
    }
}

impl Claimant for Coupon {
    fn ticket(&self) -> Option<&Ticket> {
        Some(&self.ticket)
    }

    fn claim(&self, other: Option<&Coupon>) -> Claim {
        let Some(other) = other else {
            let is_made = self.ticket.settle(self.alternative) == Change::Made;
            return if is_made { Claim::Won } else { Claim::Busy };
        };
        match settle_all(&mut [self, other]) {
            Ok(()) => Claim::Won,
            Err(which) if Arc::ptr_eq(&which.ticket, &self.ticket) => Claim::Busy,
            Err(which) if which.is_asking => Claim::Asking,
            Err(_) => Claim::Lost,
        }
    }
}
