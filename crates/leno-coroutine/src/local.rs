//! A variable each coroutine has for itself.

use core::sync::atomic::AtomicU8;

use crate::raw;

/// A coroutine-local: every coroutine, and every plain thread, sees a value of its own.
///
/// Values are made on first use and dropped when the coroutine ends. A coroutine that is suspended
/// inside [`Local::with`] and then dropped leaves `with` first. All values are dropped, also if one panics:
/// the first panic goes on in the coroutine, as if its body had raised it. Values that destructors of others
/// make are dropped, too, in 32 rounds at most; then they are leaked.
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
///
/// A local is a `static`: what tells it from others is its address. The compiler gives equal constants one
/// address, so it refuses a local that is a `const`, or is borrowed by one:
/// ```compile_fail,E0492
/// # use leno_coroutine as leno;
/// use leno::Local;
///
/// const DEPTH: &Local<u32> = &Local::new(|| 0); // a temporary value that had to be immutable
/// ```
/// ```compile_fail,E0716
/// # use leno_coroutine as leno;
/// use leno::Local;
///
/// const DEPTH: Local<u32> = Local::new(|| 0);
/// DEPTH.with(|depth| assert_eq!(*depth, 0)); // a temporary value, and not a static one
/// ```
pub struct Local<T: 'static> {
    init: fn() -> T,
    /// The address is the key: it has a size, and is mutable in the compiler's eyes, so that no two locals
    /// are put at one address.
    _place: AtomicU8,
}

impl<T: 'static> Local<T> {
    /// A local whose values start as `init` makes them.
    pub const fn new(init: fn() -> T) -> Local<T> {
        Local { init, _place: AtomicU8::new(0) }
    }

    /// Calls `f` with the running coroutine's value.
    ///
    /// # Panics
    /// With the panic of `f`, or of making the value, which is tried again the next time.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        raw::local::with((&raw const *self).addr(), self.init, f)
    }
}

impl<T: 'static> core::fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Local<{}>", core::any::type_name::<T>())
    }
}
