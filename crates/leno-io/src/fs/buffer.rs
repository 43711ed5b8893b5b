//! Memory that an operation owns.
//!
//! Whoever waits for an operation may go away before it ends: a future is dropped, or forgotten. So
//! what a future reads or writes, and what a helper thread does, goes through memory that belongs to
//! the operation, and is copied.

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

    /// A copy of these bytes, or of as many as fit.
    pub(crate) fn copy_of(bytes: &[u8]) -> Buffer {
        let mut buffer = Buffer::new(bytes.len());
        let size = buffer.as_slice().len();
        buffer.as_mut_slice().copy_from_slice(&bytes[..size]);
        buffer
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }

    /// Copies the first `count` bytes there.
    pub(crate) fn copy_to(&self, into: &mut [u8], count: usize) {
        into[..count].copy_from_slice(&self.as_slice()[..count]);
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
    fn copies_are_copies() {
        let buffer = Buffer::copy_of(b"hello");
        let mut into = [b'-'; 5];
        buffer.copy_to(&mut into, 4);
        assert_eq!(&into, b"hell-");
    }
}
