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
//! - A ticket is used again, under another id, only when its owner has the last reference to it: then
//!   it stands in no line, and nobody is about to claim it.

#[cfg(not(loom))]
use core::cell::RefCell;
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
/// Done, by its owner: no alternative was taken.
const GIVEN_UP: u32 = 2;
/// Done; the number of the alternative is added.
const DONE: u32 = 3;

/// How many tickets a thread keeps.
const KEPT: usize = 32;

/// See the module.
#[derive(Debug)]
pub struct Ticket {
    /// What its owner waits on; the number is the ticket's id.
    pub(crate) object: Object,
    word: AtomicU32,
}

impl Ticket {
    fn new(object: Object) -> Ticket {
        Ticket { object, word: AtomicU32::new(WAITING) }
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
    pub(crate) fn settle(&self, alternative: u32) -> bool {
        self.change(DONE + alternative)
    }

    /// Takes none, unless one was taken before.
    pub(crate) fn give_up(&self) -> bool {
        self.change(GIVEN_UP)
    }

    fn change(&self, to: u32) -> bool {
        loop {
            // With `LENO_PLANTED=ticket` looking and taking are two steps: loom must notice.
            let found = if leno_kernel::is_planted("ticket") {
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
                CLAIMED => {
                    assert!(
                        !is_asked(self),
                        "a source of a select was asked, and used a channel where that select waits: the \
                         select has to be answered first"
                    );
                    spin_loop();
                }
                _ => return false,
            }
        }
    }

    /// Its owner, which has claimed it, asks a source, which is code of a user, until the result is dropped. One
    /// that meets the ticket on the same thread meanwhile would wait for itself.
    pub(crate) fn asks(&self) -> Asked {
        let address = core::ptr::from_ref(self).addr();
        let _ = ASKED.try_with(|asked| asked.borrow_mut().push(address));
        Asked(address)
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

std::thread_local!(static ASKED: core::cell::RefCell<Vec<usize>> = const { core::cell::RefCell::new(Vec::new()) });

/// A source is asked.
pub(crate) struct Asked(usize);

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = ASKED.try_with(|asked| {
            let mut asked = asked.borrow_mut();
            if let Some(place) = asked.iter().rposition(|address| *address == self.0) {
                asked.remove(place);
            }
        });
    }
}

/// Whether a source of the select with this ticket is asked on the calling thread.
#[cold]
#[inline(never)]
fn is_asked(ticket: &Ticket) -> bool {
    let address = core::ptr::from_ref(ticket).addr();
    ASKED.try_with(|asked| asked.borrow().contains(&address)).unwrap_or(false)
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

/// Settles all of them, or none: then says which one was done before. No ticket is there twice.
pub(crate) fn settle_all(coupons: &mut [&Coupon]) -> Result<(), Coupon> {
    coupons.sort_unstable_by_key(|coupon| coupon.ticket.object.number());
    for (place, coupon) in coupons.iter().enumerate() {
        if !coupon.ticket.claim() {
            coupons[..place].iter().for_each(|coupon| coupon.ticket.release());
            return Err((*coupon).clone());
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
        match other {
            Some(coupon) if !coupon.ticket.settle(coupon.alternative) => Claim::Lost,
            _ => Claim::Won,
        }
    }
}

impl Claimant for Coupon {
    fn ticket(&self) -> Option<&Ticket> {
        Some(&self.ticket)
    }

    fn claim(&self, other: Option<&Coupon>) -> Claim {
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
