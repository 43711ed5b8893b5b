//! Safepoints by hand: a macro, and an adaptor for iterators.

use crate::laps::Laps;

/// Counts one unit, or so many as are given: if the budget of the coroutine is used up, others run
/// first. Outside of any budget it does nothing.
///
/// # Cancellation
/// See [`charge`](crate::charge).
///
/// # Examples
/// ```
/// let mut steps = 0;
/// while steps < 10 {
///     leno_process::safepoint!();
///     steps += 1;
/// }
/// leno_process::safepoint!(5);
/// ```
#[macro_export]
macro_rules! safepoint {
    () => {
        $crate::charge(1)
    };
    ($units:expr) => {
        $crate::charge($units)
    };
}

/// Iterators that count a unit for each item, for what [`preemptible`](macro@crate::preemptible)
/// cannot see.
pub trait Preemptible: Iterator + Sized {
    /// The same items, each of which is a unit.
    ///
    /// # Examples
    /// ```
    /// use leno_process::Preemptible;
    ///
    /// let even: u64 = (0..100_000u64).preemptible().filter(|n| n % 2 == 0).sum();
    /// assert_eq!(even, 2_499_950_000);
    /// ```
    fn preemptible(self) -> Counted<Self> {
        Counted { items: self, laps: Laps::new(1024) }
    }
}

impl<I: Iterator> Preemptible for I {}

/// See [`Preemptible::preemptible`].
#[derive(Debug)]
pub struct Counted<I> {
    items: I,
    laps: Laps,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.next()?;
        self.laps.lap();
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}
