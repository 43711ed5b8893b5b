//! What one that waits at an exchange brings along, or is handed: the payload of its node in the wait queue.

use core::cell::Cell;
use std::sync::Arc;

use crate::select::ticket::Ticket;

/// See the module.
#[repr(C)]
pub(crate) struct Party<T> {
    /// Of a select: it can be met in several lines, but only once.
    pub(crate) coupon: Option<Coupon>,
    /// Of a select: it was passed over here while it asked a source, and has not looked since.
    pub(crate) is_passed: Cell<bool>,
    /// When its value was handed over, among others.
    pub(crate) order: u64,
    /// What it offers, or was handed.
    pub(crate) value: Option<T>,
}

/// A select's ticket, for one of its alternatives: meeting that one settles the ticket with its number.
#[derive(Clone, Debug)]
pub struct Coupon {
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) alternative: u32,
}

impl<T> Party<T> {
    #[inline(always)]
    pub(super) fn new(value: Option<T>, coupon: Option<Coupon>) -> Party<T> {
        Party { coupon, is_passed: Cell::new(false), order: 0, value }
    }

    /// Gives it a value; it has none. Nothing is dropped, so the compiler does not have to find that out.
    #[inline(always)]
    pub(super) fn hand(&mut self, order: u64, value: T) {
        debug_assert!(self.value.is_none(), "a hungry party has no value");
        core::mem::forget(self.value.replace(value));
        self.order = order;
    }

    /// Takes what it offers.
    #[inline(always)]
    pub(super) fn relieve(&mut self) -> T {
        self.value.take().expect("a blocked party has a value")
    }
}
