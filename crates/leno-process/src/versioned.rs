//! A few numbers that one writes and many read, by counting versions: nobody ever waits for a reader.
//!
//! Protocol: the version is odd while the writer writes. A reader takes the version, the numbers, and the
//! version again; if it was odd or has changed, it has read two versions at once, and reads again. The
//! fences keep the numbers between the two looks at the version.

use core::fmt;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};
use std::sync::Arc;

use leno_kernel::layer::world;
use leno_kernel::log::Operation;
use leno_kernel::{Object, yield_now};

struct Versioned<const N: usize> {
    object: Object,
    version: AtomicU64,
    numbers: [AtomicU64; N],
}

/// The one that writes; see [`versioned`].
pub struct Writer<const N: usize>(Arc<Versioned<N>>);

/// One that reads; see [`versioned`].
pub struct Reader<const N: usize>(Arc<Versioned<N>>);

/// Numbers for one writer and any number of readers, on any core.
///
/// # Examples
/// ```
/// let (mut writer, reader) = leno_process::versioned([1, 2]);
/// writer.write([3, 4]);
/// assert_eq!(reader.read(), [3, 4]);
/// assert_eq!(reader.clone().version(), 1);
/// ```
pub fn versioned<const N: usize>(numbers: [u64; N]) -> (Writer<N>, Reader<N>) {
    let numbers = numbers.map(AtomicU64::new);
    let shared = Versioned { object: Object::shared(), version: AtomicU64::new(0), numbers };
    let shared = Arc::new(shared);
    (Writer(shared.clone()), Reader(shared))
}

impl<const N: usize> Writer<N> {
    /// Writes all of them; a reader sees all or none.
    pub fn write(&mut self, numbers: [u64; N]) {
        let own = &*self.0;
        // Odd already if the last one was left in the middle, as an explored program may: nobody has read that.
        let version = own.version.load(Relaxed) | 1;
        own.version.store(version, Relaxed);
        fence(Release);
        for (place, number) in own.numbers.iter().zip(numbers) {
            world::point(Operation::Send, Some(own.object));
            place.store(number, Relaxed);
        }
        world::point(Operation::Send, Some(own.object));
        own.version.store(version + 1, Release);
    }
}

impl<const N: usize> Reader<N> {
    /// All numbers of one version.
    ///
    /// # Blocking
    /// Reads again while the writer writes; others run meanwhile, for the writer may be one of them.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit while it reads again, its stack unwinds.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to read again.
    pub fn read(&self) -> [u64; N] {
        let own = &*self.0;
        loop {
            world::point(Operation::Receive, Some(own.object));
            let before = own.version.load(Acquire);
            if before.is_multiple_of(2) {
                let numbers = own.numbers.each_ref().map(|place| {
                    world::point(Operation::Receive, Some(own.object));
                    place.load(Relaxed)
                });
                fence(Acquire);
                if own.version.load(Relaxed) == before {
                    return numbers;
                }
            }
            yield_now();
        }
    }

    /// How often it was written.
    pub fn version(&self) -> u64 {
        self.0.version.load(Acquire) / 2
    }
}

impl<const N: usize> Clone for Reader<N> {
    fn clone(&self) -> Self {
        Reader(self.0.clone())
    }
}

impl<const N: usize> fmt::Debug for Writer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.0.object)
    }
}

impl<const N: usize> fmt::Debug for Reader<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({})", self.0.object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_was_left_in_the_middle_is_made_good_by_the_next() {
        let (mut writer, reader) = versioned([1]);
        writer.0.version.store(1, Relaxed);
        writer.write([2]);
        assert_eq!((reader.read(), reader.version()), ([2], 1));
        writer.write([3]);
        assert_eq!((reader.read(), reader.version()), ([3], 2));
    }
}
