//! A variable each coroutine has for itself.

use crate::raw;

/// A coroutine-local: every coroutine, and every plain thread, sees a value of its own.
///
/// Values are made on first use and dropped when the coroutine ends. A coroutine that is suspended
/// inside [`Local::with`] and then dropped leaves `with` first.
///
/// # Examples
/// ```
/// # use leno_coroutine as leno;
/// use leno::{Coroutine, Local, Suspender};
/// use std::cell::Cell;
///
/// static DEPTH: Local<Cell<u32>> = Local::new(|| Cell::new(0));
///
/// DEPTH.with(|depth| depth.set(7));
/// let inside = Coroutine::new(|_: &Suspender<(), ()>, ()| DEPTH.with(Cell::get));
/// assert_eq!(inside.resume(()).finished(), Some(0));
/// assert_eq!(DEPTH.with(Cell::get), 7);
/// ```
pub struct Local<T: 'static> {
    init: fn() -> T,
    /// The address is the key, so a local must have a size.
    _place: u8,
}

impl<T: 'static> Local<T> {
    /// A local whose values start as `init` makes them.
    pub const fn new(init: fn() -> T) -> Local<T> {
        Local { init, _place: 0 }
    }

    /// Calls `f` with the running coroutine's value.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        raw::local::with((&raw const *self).addr(), self.init, f)
    }
}

impl<T: 'static> core::fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Local<{}>", core::any::type_name::<T>())
    }
}
