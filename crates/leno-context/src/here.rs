//! What is for one thread only, and says so where the compiler refuses to let it go.
//!
//! `Send` and `Sync` are withheld by a bound that nothing meets, instead of by a raw pointer inside: then the
//! compiler names the rule, and not whatever is in there.

use core::ops::Deref;

/// Something that stays on the thread where it was made: neither `Send` nor `Sync`, whatever it holds.
#[derive(Clone)]
pub struct Here<T>(T);

impl<T> Here<T> {
    /// From now on it stays.
    #[inline(always)]
    pub const fn new(content: T) -> Here<T> {
        Here(content)
    }
}

impl<T: Deref> Deref for Here<T> {
    type Target = T::Target;

    #[inline(always)]
    fn deref(&self) -> &T::Target {
        &self.0
    }
}

/// Nothing is, and nobody else can name it.
#[diagnostic::on_unimplemented(
    message = "what is local stays on its thread: it can be neither sent to another nor used from there",
    label = "something local would be used on another thread",
    note = "for several threads or cores: `leno::channel::shared` makes such channels; `Mutex::shared`, \
            `Semaphore::shared`, `Condition::shared` and `WaitGroup::shared` make such locks"
)]
pub trait UsableOnAnyThread {}

// SAFETY: never, since nothing meets the bound.
unsafe impl<T> Send for Here<T> where Self: UsableOnAnyThread {}
// SAFETY: as above.
unsafe impl<T> Sync for Here<T> where Self: UsableOnAnyThread {}
