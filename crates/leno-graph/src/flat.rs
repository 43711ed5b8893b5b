//! Joins of three and four: joins of joins, whose messages are flat.

use crate::channel::{Link, Linked};
use crate::join::Join;
use crate::source::{Attempt, Pause, Sealed, Source};
use crate::state::Take;

/// A join of `N` sources with flat messages.
#[derive(Clone)]
pub struct Flat<X, const N: usize> {
    pub(crate) inner: X,
}

type Two<A, B> = Join<A, B>;
type Three<A, B, C> = Join<Two<A, B>, C>;
type Four<A, B, C, D> = Join<Three<A, B, C>, D>;

macro_rules! flat {
    ($count:literal, $nested:ident, ($($part:ident)*), $shape:pat => $built:expr, $back:expr) => {
        impl<G: crate::mode::Schedule, $($part: Source<S = G>),*> Source for Flat<$nested<$($part),*>, $count> {}

        impl<G: crate::mode::Schedule, $($part: Source<S = G>),*> Sealed for Flat<$nested<$($part),*>, $count> {
            type Item = ($($part::Item,)*);
            type S = G;
            const ROLLS_BACK: bool = true;

            fn first(&self) -> u64 {
                self.inner.first()
            }

            fn each(&self, f: &mut dyn FnMut(&dyn Link<G>)) {
                self.inner.each(f);
            }

            fn peek(&self, attempt: u64) -> Take<()> {
                self.inner.peek(attempt)
            }

            fn take(&self, attempt: &mut Attempt) -> Take<Self::Item> {
                match self.inner.take(attempt) {
                    Take::Got($shape) => Take::Got($built),
                    Take::Empty => Take::Empty,
                    Take::Closed => Take::Closed,
                }
            }

            fn give_back(&self, item: Self::Item, attempt: &mut Attempt) {
                let nest = $back;
                self.inner.give_back(nest(item), attempt);
            }

            fn in_order<W: Pause<G>>(
        &self,
        pause: &mut W,
    ) -> Result<Option<Self::Item>, W::Error> {
                Ok(self.inner.in_order(pause)?.map(|$shape| $built))
            }

            fn leave(&self, is_cut: bool) -> bool {
                self.inner.leave(is_cut)
            }

            fn mark(&self, is_cut: bool) {
                self.inner.mark(is_cut);
            }

            fn leave_marked(&self) -> bool {
                self.inner.leave_marked()
            }

            fn abandon(&self) -> bool {
                self.inner.abandon()
            }

            fn is_cut(&self) -> bool {
                self.inner.is_cut()
            }

            fn linked(&self) -> &Linked<G> {
                self.inner.linked()
            }
        }
    };
}

flat!(3, Three, (A B C), ((a, b), c) => (a, b, c), |(a, b, c)| ((a, b), c));
flat!(4, Four, (A B C D), (((a, b), c), d) => (a, b, c, d), |(a, b, c, d)| (((a, b), c), d));
