//! Whose turn it is on this thread: which stackless coroutine is being polled by the calling code.
//!
//! A stackless body runs on the stack of whoever steers its system. What it does is its coroutine's doing,
//! and not that thread's; and it must not block, or nobody would steer. Both are found out here.
//!
//! Several turns may be under way on one thread, one on top of the other: a body of one system calls a
//! coroutine of another. In a world all threads are on one thread of the machine, so each turn says to
//! whom it belongs.
//!
//! Deliberately not here: bodies with a stack, which the kernel knows.

use core::cell::RefCell;
use std::sync::Arc;

use leno_kernel::{Co, who};

use crate::shared::Shared;
use crate::table::Id;

/// One turn.
#[derive(Clone, Copy)]
struct Turn {
    /// The kernel's coroutine that steers, or the thread of a world; `None` on a plain thread.
    steered_by: Option<Co>,
    /// Where its system is, which lives as long as the turn.
    system: usize,
    id: Id,
    number: u64,
}

thread_local!(static TURNS: RefCell<Vec<Turn>> = const { RefCell::new(Vec::new()) });

/// Ends a turn when it goes.
pub(crate) struct Ends {
    system: usize,
    number: u64,
}

impl Drop for Ends {
    fn drop(&mut self) {
        let own = (self.system, self.number);
        TURNS.with_borrow_mut(|turns| turns.retain(|turn| (turn.system, turn.number) != own));
    }
}

fn here() -> Option<Co> {
    who().map(|(co, _)| co)
}

fn address(shared: &Arc<Shared>) -> usize {
    Arc::as_ptr(shared).addr()
}

/// A turn of this coroutine begins. No other turn of its system has this number.
pub(crate) fn begin(shared: &Arc<Shared>, id: Id, number: u64) -> Ends {
    let system = address(shared);
    let turn = Turn { steered_by: here(), system, id, number };
    TURNS.with_borrow_mut(|turns| turns.push(turn));
    Ends { system, number }
}

/// The innermost turn of the calling code.
fn innermost() -> Option<Turn> {
    TURNS.with_borrow(|turns| {
        let own = (!turns.is_empty()).then(here)?;
        turns.iter().rev().find(|turn| turn.steered_by == own).copied()
    })
}

/// Whether the calling code is a stackless body, of whatever system.
pub(crate) fn is_here() -> bool {
    innermost().is_some()
}

/// The stackless coroutine of this system that runs the calling code, with the number of its turn.
pub(crate) fn current(shared: &Arc<Shared>) -> Option<(Id, u64)> {
    let turn = innermost().filter(|turn| turn.system == address(shared))?;
    Some((turn.id, turn.number))
}
