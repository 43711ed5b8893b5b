//! A table that grows and whose entries never move, so that a reference to one stays good while others
//! are added.
//!
//! It is in buckets of doubling size, and an entry is written when it is added, not before: a core that
//! gets a million coroutines goes through its memory once.
//!
//! Claims:
//! - the first `len` entries are initialised, and their buckets allocated; the others are never read;
//! - a bucket lives as long as the table, and entries are only ever lent as shared references;
//! - the table is used by one thread at a time: it is not `Sync`.

use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ptr;

use crate::co::SLOTS;

/// How many entries the first bucket has.
const FIRST: u32 = 16;
const BUCKETS: usize = (SLOTS / FIRST).ilog2() as usize;
/// How many entries there are at most: all that are in full buckets.
pub(crate) const MOST: u32 = SLOTS - FIRST;

/// See the module.
pub(crate) struct Slots<T> {
    buckets: [Cell<*mut T>; BUCKETS],
    len: Cell<u32>,
}

/// In which bucket an entry is, and where there.
#[inline(always)]
fn place(slot: u32) -> (usize, usize) {
    let place = slot + FIRST;
    let bucket = place.ilog2() - FIRST.ilog2();
    (bucket as usize, (place - (FIRST << bucket)) as usize)
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Slots<T> {
        Slots { buckets: [const { Cell::new(ptr::null_mut()) }; BUCKETS], len: Cell::new(0) }
    }

    /// How many there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len.get()
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        if slot >= self.len.get() {
            return None;
        }
        let (bucket, index) = place(slot);
        // SAFETY: the entry is among the first, so its bucket is that long.
        let entry = unsafe { self.buckets[bucket].get().add(index) };
        // SAFETY: among the first, so it is initialised, and nobody has it exclusively.
        Some(unsafe { &*entry })
    }

    /// Adds one, at the end; there are less than [`MOST`].
    #[inline]
    pub(crate) fn push(&self, value: T) -> &T {
        let slot = self.len.get();
        let (bucket, index) = place(slot);
        if index == 0 && self.buckets[bucket].get().is_null() {
            self.buckets[bucket].set(allocate(bucket));
        }
        // SAFETY: a bucket is allocated with its first entry, and is that long.
        let entry = unsafe { self.buckets[bucket].get().add(index) };
        // SAFETY: within its bucket; nobody has a reference to what is not among the first.
        unsafe { entry.write(value) };
        self.len.set(slot + 1);
        // SAFETY: initialised, and nobody has it exclusively.
        unsafe { &*entry }
    }
}

#[cold]
fn allocate<T>(bucket: usize) -> *mut T {
    Box::into_raw(Box::<[T]>::new_uninit_slice((FIRST as usize) << bucket)).cast()
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        let mut left = self.len.replace(0) as usize;
        for (bucket, entries) in self.buckets.iter().enumerate() {
            let (entries, size) = (entries.get(), (FIRST as usize) << bucket);
            if entries.is_null() {
                return;
            }
            let used = ptr::slice_from_raw_parts_mut(entries, left.min(size));
            left -= left.min(size);
            // SAFETY: these are initialised, and not reached any more.
            unsafe { used.drop_in_place() };
            let entries = ptr::slice_from_raw_parts_mut(entries.cast::<MaybeUninit<T>>(), size);
            // SAFETY: allocated as a box of that many, which nobody uses any more.
            drop(unsafe { Box::from_raw(entries) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn entries_stay_where_they_are_and_are_dropped_once() {
        let (slots, shared) = (Slots::new(), Rc::new(()));
        assert!(slots.get(0).is_none());
        let first: &(u32, Rc<()>) = slots.push((0, shared.clone()));
        let count = if cfg!(miri) { 200 } else { 5_000 };
        for slot in 1..count {
            assert_eq!(slots.push((slot, shared.clone())).0, slot);
        }
        assert_eq!((first.0, slots.len()), (0, count));
        assert!((0..count).all(|slot| slots.get(slot).is_some_and(|entry| entry.0 == slot)));
        assert!(slots.get(count).is_none());
        assert_eq!(Rc::strong_count(&shared), count as usize + 1);
        drop(slots);
        assert_eq!(Rc::strong_count(&shared), 1);
        drop(Slots::<Rc<()>>::new());
    }
}
