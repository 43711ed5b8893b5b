//! Selects: a message of whichever of two sources has one. Only in non-deterministic graphs.
//!
//! The left one is asked first. A select is closed when both are.

use crate::channel::{Link, Linked};
use crate::source::{Attempt, Pause, Sealed, Source, both};
use crate::state::Take;

/// Two sources, of which either will do.
#[derive(Clone)]
pub struct Select<A, B> {
    pub(crate) left: A,
    pub(crate) right: B,
}

/// From which side a message of a select is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side<A, B> {
    /// The first of the two.
    Left(A),
    /// The second of the two.
    Right(B),
}

impl<T> Side<T, T> {
    /// The message, from whichever side.
    pub fn into_inner(self) -> T {
        match self {
            Side::Left(value) | Side::Right(value) => value,
        }
    }
}

impl<A: Source, B: Source<S = A::S>> Source for Select<A, B> {}

impl<A: Source, B: Source<S = A::S>> Sealed for Select<A, B> {
    type Item = Side<A::Item, B::Item>;
    type S = A::S;
    const ROLLS_BACK: bool = A::ROLLS_BACK || B::ROLLS_BACK;

    fn first(&self) -> u64 {
        self.left.first().min(self.right.first())
    }

    fn each(&self, f: &mut dyn FnMut(&dyn Link<A::S>)) {
        self.left.each(f);
        self.right.each(f);
    }

    fn peek(&self, attempt: u64) -> Take<()> {
        match (self.left.peek(attempt), self.right.peek(attempt)) {
            (Take::Got(()), _) | (_, Take::Got(())) => Take::Got(()),
            (Take::Closed, Take::Closed) => Take::Closed,
            _ => Take::Empty,
        }
    }

    fn take(&self, attempt: &mut Attempt) -> Take<Self::Item> {
        let left = self.left.take(attempt);
        if let Take::Got(item) = left {
            return Take::Got(Side::Left(item));
        }
        match (left, self.right.take(attempt)) {
            (_, Take::Got(item)) => Take::Got(Side::Right(item)),
            (Take::Closed, Take::Closed) => Take::Closed,
            _ => Take::Empty,
        }
    }

    fn give_back(&self, item: Self::Item, attempt: &mut Attempt) {
        match item {
            Side::Left(item) => self.left.give_back(item, attempt),
            Side::Right(item) => self.right.give_back(item, attempt),
        }
    }

    fn in_order<W: Pause<A::S>>(&self, _: &mut W) -> Result<Option<Self::Item>, W::Error> {
        unreachable!("deterministic graphs, which receive in order, have no selects")
    }

    fn leave(&self, is_cut: bool) -> bool {
        both(|| self.left.leave(is_cut), || self.right.leave(is_cut))
    }

    fn mark(&self, is_cut: bool) {
        self.left.mark(is_cut);
        self.right.mark(is_cut);
    }

    fn leave_marked(&self) -> bool {
        both(|| self.left.leave_marked(), || self.right.leave_marked())
    }

    fn abandon(&self) -> bool {
        both(|| self.left.abandon(), || self.right.abandon())
    }

    fn is_cut(&self) -> bool {
        self.left.is_cut() || self.right.is_cut()
    }

    fn linked(&self) -> &Linked<A::S> {
        self.left.linked()
    }
}
