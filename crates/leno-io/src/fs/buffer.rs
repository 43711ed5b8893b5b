//! Memory that an operation owns.
//!
//! Whoever waits for an operation may go away before it ends: a future is dropped, or forgotten. So
//! what a future reads or writes, and what a helper thread does, goes through memory that belongs to
//! the operation, and is copied.

use core::ops::Deref;

/// How much one operation carries at most. More is done piece by piece.
pub(crate) const MOST: usize = 1 << 18;

/// Files opened with `O_DIRECT` want their memory to begin at such addresses.
const ALIGNMENT: usize = 4096;
/// .. and to be so many bytes, or a multiple.
const BLOCK: usize = 512;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// Zeroes: as many as wanted, but [`MOST`].
    pub(crate) fn new(wanted: usize) -> Buffer {
        let size = wanted.min(MOST);
        if size == 0 || !size.is_multiple_of(BLOCK) {
            return Buffer { bytes: vec![0; size], start: 0 };
        }
        let mut bytes = vec![0; size + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        bytes.truncate(start + size);
        Buffer { bytes, start }
    }

    /// A copy of these parts, one after the other, or of as much as fits.
    pub(crate) fn copy_of(parts: &[impl Deref<Target = [u8]>]) -> Buffer {
        let mut buffer = Buffer::new(parts.iter().map(|part| part.len()).sum());
        let mut free = buffer.as_mut_slice();
        for part in parts {
            let (here, rest) = free.split_at_mut(part.len().min(free.len()));
            here.copy_from_slice(&part[..here.len()]);
            free = rest;
        }
        buffer
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_all_sizes_are_kept() {
        for wanted in [0, 1, 511, 512, 4096, 8192, MOST] {
            let buffer = Buffer::new(wanted);
            assert_eq!(buffer.as_slice().len(), wanted);
            let is_aligned = buffer.as_slice().as_ptr().addr().is_multiple_of(ALIGNMENT);
            assert!(is_aligned || wanted % BLOCK != 0 || wanted == 0, "{wanted}");
        }
        assert_eq!(Buffer::new(MOST + 1).as_slice().len(), MOST);
    }

    #[test]
    fn parts_are_copied_as_far_as_they_fit() {
        let buffer = Buffer::copy_of(&[&b"hel"[..], b"", b"lo"]);
        assert_eq!(buffer.as_slice(), b"hello");
        let (most, more) = (vec![1; MOST - 1], [2, 3]);
        let buffer = Buffer::copy_of(&[&most[..], &more]);
        assert_eq!(buffer.as_slice().len(), MOST);
        assert_eq!(buffer.as_slice()[MOST - 2..], [1, 2]);
    }
}
