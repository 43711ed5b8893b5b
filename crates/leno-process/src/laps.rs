//! Counting the laps of loops, several at a time; what [`preemptible`](crate::preemptible) puts in.
//!
//! A lap is a unit. Laps are counted down in a local, from as many as the budget has left, at most a strip
//! of them, and added to what the coroutine has used when none is left. So a budget of units ends after
//! exactly that many laps, and a long budget costs little. What is left at the end of a loop that is in no
//! other is added without looking.
//!
//! How a `for` loop is cut depends on what it runs over: ranges and slices are split, so that the loop
//! over a strip is one that the compiler knows; from everything else items are taken. Which of
//! the three holds is found by method resolution, which prefers fewer references.
//!
//! What the compiler must see, or loops are not what they were: the counter stays in a register, because
//! only values go to `look`; and a strip of a range ends at the range's own end or before, so that
//! indices which were known to be in bounds still are.

use core::ops::Range;
use core::slice;

use leno_context::thread;
use leno_kernel::{charge, units_left};

/// Laps that were counted, and not added to the units used.
#[derive(Debug)]
pub struct Laps {
    /// How many there may be before they are added; more than 0.
    left: i64,
    /// What it was at first.
    most: i64,
    strip: u32,
}

impl Laps {
    /// Counts; looks at the budget at least every `strip` laps, of which there is one at least.
    #[inline(always)]
    pub fn new(strip: u32) -> Laps {
        let strip = strip.max(1);
        let most = most(strip);
        Laps { left: most, most, strip }
    }

    /// One lap more.
    #[inline(always)]
    pub fn lap(&mut self) {
        // It was more than 0: a test for 0 is what the machine does along with counting.
        self.left -= 1;
        if self.left == 0 {
            self.most = look(self.most, self.strip);
            self.left = self.most;
        }
    }

    /// So many laps more. They may be more than there was room for: those of a loop inside count as well.
    #[inline(always)]
    pub fn add(&mut self, laps: usize) {
        self.left = self.left.saturating_sub_unsigned(laps as u64);
        if self.left <= 0 {
            self.most = look(self.most.saturating_sub(self.left), self.strip);
            self.left = self.most;
        }
    }

    /// How many laps there may be before the next look.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.left as usize
    }
}

/// Counts the entry of a function that calls itself.
///
/// What happens seldom is a function of the caller's own crate (it is generic for that alone): the compiler
/// keeps the address of one elsewhere in a register for it, and a recursion has none to spare.
#[inline(always)]
pub fn enter<const STRIP: u32>() {
    if thread::current().units.spend(1) < 0 {
        run_out::<STRIP>();
    }
}

#[cold]
#[inline(never)]
fn run_out<const STRIP: u32>() {
    charge(0);
}

/// Adds laps to the units used; how many there may be before the next look.
#[cold]
#[inline(never)]
fn look(counted: i64, strip: u32) -> i64 {
    charge(counted.try_into().unwrap_or(u32::MAX));
    most(strip)
}

#[inline(always)]
fn most(strip: u32) -> i64 {
    units_left().min(u64::from(strip)) as i64
}

impl Drop for Laps {
    #[inline(always)]
    fn drop(&mut self) {
        leno_kernel::layer::charge_later((self.most - self.left) as u32);
    }
}

/// What a `for` loop runs over.
#[derive(Debug)]
pub struct Strips<I> {
    /// What is left of it.
    pub items: I,
    /// Whether nothing is left behind the last strip.
    pub is_over: bool,
}

impl<I> Strips<I> {
    /// All of it, not cut yet.
    #[inline(always)]
    pub fn new(items: I) -> Strips<I> {
        Strips { items, is_over: false }
    }
}

/// Items of a loop that are run through at once.
pub trait Strip: Iterator {
    /// How many laps there were, so far.
    fn laps(&self) -> usize;
}

/// An iterator that was split off, and how long it was.
#[derive(Debug)]
pub struct Piece<I> {
    items: I,
    laps: usize,
}

impl<I: Iterator> Iterator for Piece<I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        self.items.next()
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: Iterator> Strip for Piece<I> {
    #[inline(always)]
    fn laps(&self) -> usize {
        // Slices and ranges know how many are left, of a strip at any rate.
        self.laps - self.items.size_hint().0
    }
}

/// Slices.
pub trait SliceStrip {
    /// What is split off.
    type Piece: Strip;
    /// Splits at most so many off.
    fn next_strip(self, most: usize) -> Self::Piece;
    /// How many laps there are.
    fn laps_in_all(self) -> usize;
}

impl<'a, T> SliceStrip for &mut &mut &mut Strips<slice::Iter<'a, T>> {
    type Piece = Piece<slice::Iter<'a, T>>;

    #[inline(always)]
    fn next_strip(self, most: usize) -> Self::Piece {
        let all = self.items.as_slice();
        let laps = all.len().min(most);
        let (piece, rest) = all.split_at(laps);
        self.items = rest.iter();
        self.is_over = rest.is_empty();
        Piece { items: piece.iter(), laps }
    }

    #[inline(always)]
    fn laps_in_all(self) -> usize {
        self.items.len()
    }
}

impl<'a, T> SliceStrip for &mut &mut &mut Strips<slice::IterMut<'a, T>> {
    type Piece = Piece<slice::IterMut<'a, T>>;

    #[inline(always)]
    fn next_strip(self, most: usize) -> Self::Piece {
        let all = core::mem::take(&mut self.items).into_slice();
        let laps = all.len().min(most);
        let (piece, rest) = all.split_at_mut(laps);
        self.is_over = rest.is_empty();
        self.items = rest.iter_mut();
        Piece { items: piece.iter_mut(), laps }
    }

    #[inline(always)]
    fn laps_in_all(self) -> usize {
        self.items.len()
    }
}

/// Ranges of integers.
pub trait RangeStrip {
    /// What is split off.
    type Piece: Strip;
    /// Splits at most so many off.
    fn next_strip(self, most: usize) -> Self::Piece;
    /// How many laps there are.
    fn laps_in_all(self) -> usize;
}

/// An integer.
pub trait Integer: Copy + PartialOrd {
    /// Where a strip ends that begins here: at most so many further, and not behind `end`.
    fn forward(self, end: Self, most: usize) -> Self;
    /// How many there are from here to there; none if that is before. More than anyone counts may be even
    /// more.
    fn steps(self, to: Self) -> usize;
}

macro_rules! integers {
    ($($own:ty)*) => {$(
        impl Integer for $own {
            #[inline(always)]
            fn forward(self, end: Self, most: usize) -> Self {
                // What a small integer cannot count makes a shorter strip.
                let most = <$own>::try_from(most).unwrap_or(<$own>::MAX);
                self.saturating_add(most).min(end)
            }

            #[inline(always)]
            fn steps(self, to: Self) -> usize {
                if self < to {
                    // What a signed integer cannot count is negative.
                    usize::try_from(to.wrapping_sub(self)).unwrap_or(usize::MAX)
                } else {
                    0
                }
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl<T: Integer> RangeStrip for &mut &mut Strips<Range<T>>
where
    Range<T>: Iterator<Item = T>,
{
    type Piece = Piece<Range<T>>;

    #[inline(always)]
    fn next_strip(self, most: usize) -> Self::Piece {
        let Range { start, end } = self.items;
        let to = start.forward(end, most);
        self.items.start = to;
        self.is_over = to >= end;
        Piece { items: start..to, laps: start.steps(to) }
    }

    #[inline(always)]
    fn laps_in_all(self) -> usize {
        self.items.start.steps(self.items.end)
    }
}

/// Everything else.
pub trait AnyStrip {
    /// What is taken.
    type Piece: Strip;
    /// Takes at most so many.
    fn next_strip(self, most: usize) -> Self::Piece;
    /// Nobody knows how many laps there are.
    fn laps_in_all(self) -> usize;
}

/// Items that are taken one by one.
#[derive(Debug)]
pub struct Taken<'a, I> {
    from: &'a mut Strips<I>,
    laps: usize,
    most: usize,
}

impl<I: Iterator> Iterator for Taken<'_, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        if self.laps == self.most {
            return None;
        }
        let item = self.from.items.next();
        match item {
            Some(_) => self.laps += 1,
            None => self.from.is_over = true,
        }
        item
    }
}

impl<I: Iterator> Strip for Taken<'_, I> {
    #[inline(always)]
    fn laps(&self) -> usize {
        self.laps
    }
}

impl<'a, I: Iterator> AnyStrip for &'a mut Strips<I> {
    type Piece = Taken<'a, I>;

    #[inline(always)]
    fn next_strip(self, most: usize) -> Self::Piece {
        Taken { from: self, laps: 0, most }
    }

    #[inline(always)]
    fn laps_in_all(self) -> usize {
        usize::MAX
    }
}
