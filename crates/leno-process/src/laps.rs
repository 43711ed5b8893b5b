//! Counting the laps of loops, several at a time; what [`preemptible`](crate::preemptible) puts in.
//!
//! A lap is a unit. Laps are counted in a local, and added to what the coroutine has used when so many
//! have come together as its budget has left, at most a strip of them. So a budget of units ends
//! after exactly that many laps, and a long budget costs little. What is left at a function's end
//! is added without looking.
//!
//! How a `for` loop is cut depends on what it runs over: ranges and slices are split, so that the loop
//! over a strip is one that the compiler knows; from everything else items are taken. Which of
//! the three holds is found by method resolution, which prefers fewer references.

use core::ops::Range;
use core::slice;

use leno_kernel::{charge, units_left};

/// Laps that were counted, and not added to the units used.
#[derive(Debug)]
pub struct Laps {
    counted: u32,
    /// When they are added.
    most: u32,
    strip: u32,
}

impl Laps {
    /// Counts; looks at the budget at least every `strip` laps.
    #[inline(always)]
    pub fn new(strip: u32) -> Laps {
        Laps { counted: 0, most: most(strip), strip }
    }

    /// So many laps more.
    #[inline(always)]
    pub fn add(&mut self, laps: usize) {
        self.counted += u32::try_from(laps).unwrap_or(u32::MAX / 2);
        if self.counted >= self.most {
            self.look();
        }
    }

    /// How many laps there may be before the next look.
    #[inline(always)]
    pub fn room(&self) -> usize {
        (self.most - self.counted) as usize
    }

    #[inline(always)]
    fn look(&mut self) {
        let counted = core::mem::take(&mut self.counted);
        charge(counted);
        self.most = most(self.strip);
    }
}

#[inline(always)]
fn most(strip: u32) -> u32 {
    u32::try_from(units_left()).unwrap_or(u32::MAX).min(strip)
}

impl Drop for Laps {
    #[inline(always)]
    fn drop(&mut self) {
        leno_kernel::charge_later(self.counted);
    }
}

/// Items of a loop that are run through at once.
pub trait Strip {
    /// What the loop's pattern gets.
    type Item;
    /// The next one.
    fn next(&mut self) -> Option<Self::Item>;
    /// How many laps it is.
    fn laps(&self) -> usize;
}

/// What a `for` loop runs over.
#[derive(Debug)]
pub struct Strips<I>(pub I);

/// An iterator that was split off, and how long it was.
#[derive(Debug)]
pub struct Piece<I> {
    items: I,
    laps: usize,
}

impl<I: Iterator> Strip for Piece<I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        self.items.next()
    }

    #[inline(always)]
    fn laps(&self) -> usize {
        self.laps
    }
}

/// Slices.
pub trait SliceStrip {
    /// What is split off.
    type Piece: Strip;
    /// Splits at most so many off; `None` when there are no more.
    fn next_strip(self, most: usize) -> Option<Self::Piece>;
}

impl<'a, T> SliceStrip for &mut &mut &mut Strips<slice::Iter<'a, T>> {
    type Piece = Piece<slice::Iter<'a, T>>;

    #[inline(always)]
    fn next_strip(self, most: usize) -> Option<Self::Piece> {
        let all = self.0.as_slice();
        let laps = all.len().min(most);
        let (piece, rest) = all.split_at(laps);
        self.0 = rest.iter();
        (laps > 0).then(|| Piece { items: piece.iter(), laps })
    }
}

impl<'a, T> SliceStrip for &mut &mut &mut Strips<slice::IterMut<'a, T>> {
    type Piece = Piece<slice::IterMut<'a, T>>;

    #[inline(always)]
    fn next_strip(self, most: usize) -> Option<Self::Piece> {
        let all = core::mem::take(&mut self.0).into_slice();
        let laps = all.len().min(most);
        let (piece, rest) = all.split_at_mut(laps);
        self.0 = rest.iter_mut();
        (laps > 0).then(|| Piece { items: piece.iter_mut(), laps })
    }
}

/// Ranges of integers.
pub trait RangeStrip {
    /// What is split off.
    type Piece: Strip;
    /// Splits at most so many off; `None` when there are no more.
    fn next_strip(self, most: usize) -> Option<Self::Piece>;
}

/// An integer.
pub trait Integer: Copy + PartialOrd {
    /// How many there are from here to `end`, if they are not more than `most`; else `most`.
    fn steps(self, end: Self, most: usize) -> usize;
    /// The one that is so many further; there is one.
    fn forward(self, steps: usize) -> Self;
}

macro_rules! integers {
    ($($own:ty)*) => {$(
        impl Integer for $own {
            #[inline(always)]
            fn steps(self, end: Self, most: usize) -> usize {
                if self >= end {
                    return 0;
                }
                // The distance is not negative, whatever sign the two have.
                let distance = end.wrapping_sub(self) as u128 & (u128::MAX >> (128 - <$own>::BITS));
                if distance < most as u128 { distance as usize } else { most }
            }

            #[inline(always)]
            fn forward(self, steps: usize) -> Self {
                self.wrapping_add(steps as $own)
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
    fn next_strip(self, most: usize) -> Option<Self::Piece> {
        let start = self.0.start;
        let laps = start.steps(self.0.end, most);
        self.0.start = start.forward(laps);
        (laps > 0).then_some(Piece { items: start..self.0.start, laps })
    }
}

/// Everything else.
pub trait AnyStrip {
    /// What is taken.
    type Piece: Strip;
    /// Takes at most so many; `None` when there are no more.
    fn next_strip(self, most: usize) -> Option<Self::Piece>;
}

/// Items that are taken one by one, the first of them already.
#[derive(Debug)]
pub struct Taken<'a, I: Iterator> {
    first: Option<I::Item>,
    rest: &'a mut I,
    laps: usize,
    most: usize,
}

impl<I: Iterator> Strip for Taken<'_, I> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        if let Some(first) = self.first.take() {
            self.laps = 1;
            return Some(first);
        }
        if self.laps == self.most {
            return None;
        }
        let item = self.rest.next()?;
        self.laps += 1;
        Some(item)
    }

    #[inline(always)]
    fn laps(&self) -> usize {
        self.laps
    }
}

impl<'a, I: Iterator> AnyStrip for &'a mut Strips<I> {
    type Piece = Taken<'a, I>;

    #[inline(always)]
    fn next_strip(self, most: usize) -> Option<Self::Piece> {
        let first = Some(self.0.next()?);
        Some(Taken { first, rest: &mut self.0, laps: 0, most })
    }
}
