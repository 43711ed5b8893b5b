//! Those in a line of a channel who are to go on.

/// So many are taken out of a line at a time.
const FEW: usize = 2;

/// A few who are to go on, and how many after them. Taken out of their line under its lock and woken after that, so
/// that nothing is allocated for them; those who come into line meanwhile are not counted.
pub(crate) struct Woken<K> {
    few: [Option<K>; FEW],
    /// How many more of those who were in the line are to go on.
    left: usize,
}

impl<K: Copy> Woken<K> {
    pub(crate) const NONE: Woken<K> = Woken { few: [None; FEW], left: 0 };

    /// Takes the first of a line, of `most` at most who are to go on.
    #[inline(always)]
    pub(crate) fn first_of(line: &mut Vec<K>, most: usize) -> Woken<K> {
        let mut woken = Woken::NONE;
        if line.is_empty() {
            return woken;
        }
        let all = most.min(line.len());
        let taken = line.drain(..all.min(FEW));
        woken.left = all - taken.len();
        woken.few.iter_mut().zip(taken).for_each(|(place, one)| *place = Some(one));
        woken
    }

    /// Takes the first of those in a line.
    #[inline(always)]
    pub(crate) fn all_of(line: &mut Vec<K>) -> Woken<K> {
        Woken::first_of(line, usize::MAX)
    }

    /// How many more are to go on.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.few[0].is_none()
    }

    #[inline(always)]
    pub(crate) fn few(&self) -> impl Iterator<Item = K> {
        self.few.into_iter().flatten()
    }
}
