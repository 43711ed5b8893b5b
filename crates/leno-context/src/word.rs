//! One machine word of a value's journey across a switch.
//!
//! A switch carries two registers. The first one is a [`Word`]: the value itself when it fits
//! (no memory is touched), else the address of the value in the sender's frame. The sender stays
//! suspended until the receiver has read it, so that frame cannot go away in between.
//!
//! Invariant: whoever receives a word packed from a `T` unpacks it as `T`, once, before it does
//! anything else. A word may hold uninitialised padding, hence `MaybeUninit`; it is a pointer
//! type so that an address keeps its provenance.

use core::mem::{ManuallyDrop, MaybeUninit};

/// What travels in the first register of a switch.
pub type Word = MaybeUninit<*mut ()>;

/// A word that means nothing.
pub const EMPTY: Word = MaybeUninit::new(core::ptr::null_mut());

/// Whether a `T` travels in the word itself; else its address does.
pub const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<Word>() && align_of::<T>() <= align_of::<Word>()
}

/// Packs `value`, which stays where it is until the receiver has unpacked it.
#[inline(always)]
pub fn pack<T>(value: &ManuallyDrop<T>) -> Word {
    let address = (&raw const *value).cast::<()>();
    if !fits::<T>() {
        return Word::new(address.cast_mut());
    }
    let mut word = Word::uninit();
    // SAFETY: `T` is at most as large as a word, both are valid for their size, and bytes are
    // copied as they are, initialised or not.
    unsafe {
        core::ptr::copy_nonoverlapping(
            address.cast::<MaybeUninit<u8>>(),
            word.as_mut_ptr().cast::<MaybeUninit<u8>>(),
            size_of::<T>(),
        );
    }
    word
}

/// Takes the value out of a word.
///
/// # Safety
/// `word` was made by [`pack`] from a `ManuallyDrop<T>` of the same `T` that is still in place,
/// and is unpacked at most once.
#[inline(always)]
pub unsafe fn unpack<T>(word: Word) -> T {
    if fits::<T>() {
        // SAFETY: by the contract the first `size_of::<T>()` bytes of the word are a valid `T`,
        // and a word is at least as aligned as `T`.
        return unsafe { word.as_ptr().cast::<T>().read() };
    }
    // SAFETY: an unfitting `T` was packed as an address, which is initialised.
    let address = unsafe { word.assume_init() };
    // SAFETY: by the contract the value is still at that address and nobody else reads it.
    unsafe { address.cast::<T>().read() }
}

/// Unpacks a word whose sender's frames have been copied elsewhere: `moved` maps the address in
/// the word to where the value is now.
///
/// # Safety
/// As for [`unpack`], with the value at the mapped address; that address may be unaligned.
pub unsafe fn unpack_moved<T>(word: Word, moved: impl FnOnce(*mut ()) -> *mut ()) -> T {
    if fits::<T>() {
        // SAFETY: forwarded; a fitting value is in the word itself.
        return unsafe { unpack(word) };
    }
    // SAFETY: an unfitting `T` was packed as an address, which is initialised.
    let address = unsafe { word.assume_init() };
    // SAFETY: by the contract the value is at the mapped address and nobody else reads it.
    unsafe { moved(address).cast::<T>().read_unaligned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T>(value: T) -> T {
        let value = ManuallyDrop::new(value);
        // SAFETY: packed from the same type one line above, in place, unpacked once.
        unsafe { unpack(pack(&value)) }
    }

    #[test]
    fn values_of_every_shape_survive_the_round_trip() {
        round_trip(());
        assert_eq!(round_trip(7u8), 7);
        assert_eq!(round_trip((1u8, 2u32)), (1, 2), "padding");
        assert_eq!(round_trip(usize::MAX), usize::MAX);
        assert_eq!(round_trip([1u64, 2, 3]), [1, 2, 3], "by address");
        assert_eq!(round_trip(String::from("kept")), "kept");
        assert_eq!(*round_trip(Box::new(5)), 5, "provenance");
        assert_eq!(round_trip(u128::MAX), u128::MAX, "over-aligned");
    }
}
