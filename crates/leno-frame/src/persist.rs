//! What may live in a frame.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What may be alive across a suspension: data that serde writes and reads, that owns itself, and that
/// may change threads. Implemented for all such types; a bound for type parameters of resumable
/// functions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a coroutine frame",
    label = "this value is still needed after a suspension, but `{Self}` cannot be saved",
    note = "a local that is alive across an `.await` of a `#[resumable]` fn must implement \
            `serde::Serialize` and `serde::Deserialize`, own its data (no borrows) and be `Send`",
    note = "ways out: end its life before the suspension; keep an id and re-create it; wrap a resource \
            in `Ext<T>`; put shared handles in the context (`co.ctx()`)"
)]
pub trait Persist: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Persist for T {}

/// Refuses references with a message of their own: that of `Deserialize` speaks of lifetimes.
///
/// A method of the type itself is found before one of a trait, so only references get to `BorrowHeld`.
#[doc(hidden)]
pub struct Probe<'a, T: ?Sized>(pub &'a T);

#[doc(hidden)]
pub trait Owned {
    fn owned(&self) {}
}

impl<T: ?Sized> Owned for Probe<'_, T> {}

impl<U: ?Sized> Probe<'_, &U> {
    #[doc(hidden)]
    pub fn owned(&self)
    where
        U: BorrowHeld,
    {
    }
}

impl<U: ?Sized> Probe<'_, &mut U> {
    #[doc(hidden)]
    pub fn owned(&self)
    where
        U: BorrowHeld,
    {
    }
}

#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a borrow of `{Self}` is held across a suspension",
    label = "this reference is still needed after a suspension",
    note = "a frame can be stored and restored elsewhere, so it owns its data; keep the owner and borrow \
            again after the `.await`, or keep an owned copy (`to_owned()`, an index, a range)"
)]
pub trait BorrowHeld {}
