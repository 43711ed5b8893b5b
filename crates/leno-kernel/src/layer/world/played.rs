//! What a thread of a world has that is the machine's elsewhere: a number, and a bell of its own.

use std::sync::Arc;

use leno_context::thread;

use super::{current_thread, is_near};
use crate::Co;
use crate::bell::Bell;
use crate::raw::world as raw;

/// A thread of a world, once it was asked for one of these.
pub(super) struct Played {
    co: Co,
    /// No other thread has it, in this world or elsewhere.
    number: u32,
    bell: Arc<Bell>,
}

/// The number of the thread that plays the calling code; `None` outside a world.
#[inline(always)]
pub(crate) fn thread_number() -> Option<u32> {
    if is_near() { with_own(|own| own.number) } else { None }
}

/// Whether a thread of a world runs the calling code, and this is its number.
#[inline(always)]
pub(crate) fn has_thread_number(number: u32) -> bool {
    is_near() && is_own(number)
}

/// The bell of the thread that plays the calling code; `None` outside a world.
pub(crate) fn own_bell() -> Option<Arc<Bell>> {
    if is_near() { with_own(|own| own.bell.clone()) } else { None }
}

#[cold]
fn is_own(number: u32) -> bool {
    let co = current_thread();
    let is_it = |own: &Played| Some(own.co) == co && own.number == number;
    raw::with(|world| world.played.borrow().iter().any(is_it)) == Some(true)
}

#[cold]
fn with_own<R>(f: impl FnOnce(&Played) -> R) -> Option<R> {
    let co = current_thread()?;
    raw::with(|world| {
        let mut played = world.played.borrow_mut();
        let place = played.iter().position(|own| own.co == co).unwrap_or_else(|| {
            let number = thread::next_number();
            played.push(Played { co, number, bell: Arc::default() });
            played.len() - 1
        });
        f(&played[place])
    })
}
