//! Limits within which values are read and written.
//!
//! Serde recurses on the native stack, which may be that of a coroutine, so a value is read and written only as
//! deep as the stack has room for. What is read comes from anywhere, so there are also limits on how deep it is nested,
//! how many items it has, because items without a size cost no bytes, and how much memory those items take.

use std::cell::Cell;

use leno_context::control::current;
use leno_context::overflow::{stack_left, thread_range};
use leno_context::switch::stack_pointer;

use super::Options;
use crate::scope;

/// How deep values may be nested unless `Options::nesting` says otherwise: as deep as serde_json reads. At
/// 1,024 a debug build with a sanitizer overflowed the stack of a thread.
pub(crate) const NESTING: usize = 128;

/// How much memory items may take unless `Options::memory` says otherwise, whatever the size of the image.
const MEMORY: usize = 16 << 20;
/// And so much for each byte of it.
const MEMORY_PER_BYTE: usize = 1 << 10;

/// How much stack there must be for one more level, beside the value that is read there: for serde's and a derived
/// implementation's frames, for a leaf, for an error.
const LEVEL: usize = match (cfg!(leno_asan) || cfg!(leno_tsan), cfg!(debug_assertions)) {
    (true, _) => 32 << 10,
    (false, true) => 7 << 10,
    (false, false) => 3 << 10,
};
/// How often a value that is read is on the stack at the same time: 14 to 18 times were seen where it goes into a map.
const COPIES: usize = 24;

/// What may still be read or written.
pub(crate) struct Limits {
    nesting: Cell<usize>,
    items: Cell<usize>,
    memory: Cell<usize>,
    /// How many bytes there are to read.
    bytes: usize,
    /// The lowest address of the stack, and how much of it was left when that was found out.
    stack: Cell<(usize, usize)>,
    /// Whose shared values and externals these are.
    scope: u64,
    /// What was wrong: postcard does not keep texts of errors.
    complaint: Cell<Option<String>>,
}

impl Limits {
    /// For an image or another value of so many bytes.
    pub(crate) fn reading(bytes: usize, options: Option<&Options>, scope: u64) -> Self {
        let memory = bytes.saturating_mul(MEMORY_PER_BYTE).saturating_add(MEMORY);
        Limits {
            nesting: Cell::new(options.and_then(|options| options.nesting).unwrap_or(NESTING)),
            items: Cell::new(bytes.saturating_mul(16).saturating_add(1 << 16)),
            memory: Cell::new(options.and_then(|options| options.memory).unwrap_or(memory)),
            bytes,
            stack: Cell::new((0, 0)),
            scope,
            complaint: Cell::new(None),
        }
    }

    /// As [`Limits::reading`], for JSON: its parser limits the nesting.
    pub(crate) fn reading_json(bytes: usize, options: Option<&Options>, scope: u64) -> Self {
        let limits = Limits::reading(bytes, options, scope);
        limits.nesting.set(usize::MAX);
        limits
    }

    /// For values of the program: these are limited by the stack alone.
    pub(crate) fn writing(scope: u64) -> Self {
        Limits::reading_json(0, None, scope)
    }

    /// Runs `read`, which is to return a `T`, one level deeper.
    #[inline]
    pub(super) fn deeper<T, E: serde::de::Error>(
        &self,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(left) = self.nesting.get().checked_sub(1) else {
            return Err(E::custom(self.refuse("it is nested too deeply; see `Options::nesting`")));
        };
        self.room(size_of::<T>()).map_err(E::custom)?;
        self.nesting.set(left);
        let result = read();
        self.nesting.set(left + 1);
        result
    }

    /// Counts one more item, which is a `T`.
    #[inline]
    pub(super) fn item<T, E: serde::de::Error>(&self) -> Result<(), E> {
        match self.items.get().checked_sub(1) {
            Some(left) => self.items.set(left),
            None => {
                return Err(E::custom(self.refuse("it has more items than its bytes can mean")));
            }
        }
        self.memory::<T, E>()
    }

    /// Counts the memory of a `T` in a collection.
    #[inline]
    pub(super) fn memory<T, E: serde::de::Error>(&self) -> Result<(), E> {
        match self.memory.get().checked_sub(size_of::<T>()) {
            Some(left) => self.memory.set(left),
            None => {
                let cause =
                    "its items take more memory than its bytes can mean; see `Options::memory`";
                return Err(E::custom(self.refuse(cause)));
            }
        }
        Ok(())
    }

    /// How many items room may be made for in advance, if there are said to be so many.
    #[inline]
    pub(super) fn in_advance(&self, said: Option<usize>) -> Option<usize> {
        said.map(|said| said.min(self.bytes))
    }

    /// Whether the stack has room for one more level, and for a value of this size there.
    ///
    /// # Errors
    /// If not, with what is wrong.
    #[inline]
    pub(super) fn room(&self, value: usize) -> Result<(), String> {
        let wanted = value.saturating_mul(COPIES).saturating_add(LEVEL);
        let (low, left) = self.stack.get();
        let now = stack_pointer().wrapping_sub(low);
        // Higher up than where it was looked at, or on another stack: look again.
        let mistake = if self.scope == scope::NO_TABLES { "image-depth" } else { "restore-depth" };
        let is_enough = now <= left && now >= wanted || leno_context::is_planted(mistake);
        if is_enough { Ok(()) } else { self.look(wanted) }
    }

    #[inline(never)]
    fn look(&self, wanted: usize) -> Result<(), String> {
        let here = stack_pointer();
        let Some(left) = stack_left() else { return Ok(()) };
        // A stack that is neither leno's nor the thread's: nothing is known of it.
        let is_thread = |(low, high)| (low - (64 << 10)..high).contains(&here);
        if current().is_null() && !thread_range().is_some_and(is_thread) {
            return Ok(());
        }
        self.stack.set((here - left, left));
        if left >= wanted {
            return Ok(());
        }
        Err(self.refuse(&format!(
            "it is nested deeper than the stack has room for: {left} bytes are left of it, {wanted} are wanted; use a \
             larger `stack_size`"
        )))
    }

    /// Puts aside what is wrong, and returns it.
    #[cold]
    #[inline(never)]
    fn refuse(&self, why: &str) -> String {
        self.complaint.set(Some(why.to_owned()));
        why.to_owned()
    }

    /// Whose tables count, for values that ask.
    #[inline]
    pub(super) fn tell(&self) {
        scope::tell(self.scope);
    }

    /// What was wrong, if it was put aside.
    #[cold]
    pub(crate) fn take_complaint(&self) -> Option<String> {
        self.complaint.take().or_else(|| scope::take_complaint(self.scope))
    }
}
