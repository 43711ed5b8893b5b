//! Members of a ring whose stacks are shared.
//!
//! A hop onto a shared stack has two halves, like a resume: [`prepare`] may fail, the rest cannot.
//! Whoever hops copies the frames itself, unless it runs on the very stack they go to; then the
//! copier does it, which the hop goes through.

use core::panic::Location;
use core::ptr::NonNull;

use leno_context::control::{Control, Kind};
use leno_context::switch::{self, Context};
use leno_context::word::{EMPTY, Word};

use super::copier;
use super::home::{self, Obstacle, Record};
use super::{Home, Stacks};
use crate::raw::ring;
use crate::ring::{Member, RingError, SpawnError};
use crate::{Builder, trace};

/// Where a switch has to go, and with what, for a member to be continued.
pub(crate) struct Way {
    pub(crate) context: *mut Context,
    pub(crate) word: Word,
    pub(crate) code: usize,
}

impl Stacks {
    /// Adds a member to the current ring, on one of these stacks. It runs next.
    ///
    /// While it runs on a stack and enters a ring of its own there, or resumes a coroutine with a
    /// stack of its own, members that share the stack cannot have their turn: yielding to one is
    /// then refused with [`RingError::Occupied`].
    ///
    /// # Safety
    /// As for [`Self::coroutine`]; a hop away from the member is a suspension.
    ///
    /// # Errors
    /// When there is no memory for a stack, or no ring to add it to.
    ///
    /// # Examples
    /// ```
    /// # use leno_coroutine as leno;
    /// use leno::{ring, shared};
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// # if cfg!(leno_baton) { return Ok(()) }
    /// let stacks = shared::Stacks::new(1);
    /// let sum = Rc::new(Cell::new(0));
    /// for n in 0..1000 {
    ///     let sum = sum.clone();
    ///     let member = move || {
    ///         ring::yield_now();
    ///         sum.set(sum.get() + n);
    ///     };
    ///     // SAFETY: nothing refers to the members' locals from outside.
    ///     unsafe { stacks.spawn(member)? };
    /// }
    /// ring::wait_until(|| ring::members().is_ok_and(|all| all.len() == 1));
    /// assert_eq!(sum.get(), 499_500);
    /// # Ok::<(), ring::SpawnError>(())
    /// ```
    #[track_caller]
    pub unsafe fn spawn<F: FnOnce() + 'static>(&self, body: F) -> Result<Member, SpawnError> {
        // SAFETY: forwarded.
        unsafe { self.spawn_with(Builder::new(), body) }
    }

    /// As [`Self::spawn`], with the builder's name. Its stack size is not used.
    ///
    /// # Safety
    /// As for [`Self::spawn`].
    ///
    /// # Errors
    /// As for [`Self::spawn`].
    #[track_caller]
    pub unsafe fn spawn_with<F: FnOnce() + 'static>(
        &self,
        builder: Builder,
        body: F,
    ) -> Result<Member, SpawnError> {
        ring::check_here()?;
        let site = Location::caller();
        let (control, home) =
            self.create(builder, site, None, Kind::Shared, ring::main_boxed::<F>, body)?;
        let record = Record::new(control, home, self.clone());
        // SAFETY: just made.
        let block = unsafe { control.as_ref() };
        block.extra.set(record.as_ptr().cast());
        block.set_shared();
        trace::event("spawn", block);
        Ok(ring::adopt_here(control)?)
    }
}

/// The record of a shared member.
fn record_of(block: &Control) -> NonNull<Record> {
    debug_assert_eq!(block.kind(), Kind::Shared);
    NonNull::new(block.extra.get().cast()).expect("a shared member has a record")
}

/// Makes sure that a member can be brought onto its stack. `from` is the member that runs.
///
/// # Errors
/// [`RingError::NoMemory`], [`RingError::Occupied`]; nothing has changed.
pub(crate) fn prepare(block: &Control, from: &Control) -> Result<(), RingError> {
    // SAFETY: a live member has its record.
    let record = unsafe { record_of(block).as_ref() };
    let member = || block.shown().to_string();
    if is_below_us(record.home()) {
        if copier::of_this_thread().is_err() {
            return Err(RingError::NoMemory { member: member() });
        }
        // Someone further out may run there, with a ring that it has entered.
        if let Some(by) = record.home().occupant().filter(|by| !is_of(*by, from)) {
            return Err(occupied(member(), by));
        }
    }
    home::prepare(record).map_err(|obstacle| match obstacle {
        Obstacle::NoMemory => RingError::NoMemory { member: member() },
        Obstacle::Occupied(by) => occupied(member(), by),
    })
}

fn occupied(member: String, by: NonNull<Record>) -> RingError {
    // SAFETY: an occupant is live.
    let by = unsafe { by.as_ref() }.block().shown().to_string();
    RingError::Occupied { member, by }
}

fn is_of(record: NonNull<Record>, block: &Control) -> bool {
    // SAFETY: an occupant is live.
    core::ptr::eq(unsafe { record.as_ref() }.block(), block)
}

fn is_below_us(home: &Home) -> bool {
    home.holds(switch::stack_pointer())
}

/// Brings a member onto its stack, or finds the way through the copier, which will.
///
/// # Safety
/// [`prepare`] succeeded just before; the next switch of this thread goes the way returned.
pub(crate) unsafe fn way_to(block: &Control, code: usize) -> Way {
    let record = record_of(block);
    // SAFETY: a live member has its record.
    if is_below_us(unsafe { record.as_ref() }.home()) {
        return copier::way_to(record, code);
    }
    // SAFETY: prepared; the calling code is not on the home.
    unsafe { home::bring_in(record) };
    Way { context: block.context(), word: EMPTY, code }
}

/// Frees what a member that has ended had.
///
/// # Safety
/// It has ended or never started; nobody runs on its frames, and nobody uses it afterwards.
pub(crate) unsafe fn release(block: &Control) {
    let record = record_of(block);
    // SAFETY: a live member has its record.
    let own = unsafe { record.as_ref() };
    // SAFETY: forwarded.
    unsafe { own.release() };
    // SAFETY: just released.
    unsafe { Record::free(record) };
}

/// Leaves a member as it is, for ever.
pub(crate) fn give_up(block: &Control) {
    // SAFETY: a live member has its record.
    unsafe { record_of(block).as_ref() }.give_up();
}
