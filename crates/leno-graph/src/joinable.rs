//! What can be joined.

use crate::ends::{Input, UsableIn};
use crate::flat::Flat;
use crate::join::{Join, JoinAll};
use crate::mode::Determinism;
use crate::source::Source;

/// What can be joined: tuples of two to four ends to receive from, and vectors of them.
pub trait Joinable<D: Determinism> {
    /// What the join can be received from.
    type Source: Source;

    /// Makes one, and says of which graphs its parts are.
    #[doc(hidden)]
    fn join(self, graphs: &mut Vec<u64>) -> Self::Source;
}

impl<D: Determinism, A, B, K, L> Joinable<D> for (Input<A, K>, Input<B, L>)
where
    A: Source,
    B: Source<S = A::S>,
    K: UsableIn<D>,
    L: UsableIn<D>,
{
    type Source = Join<A, B>;

    fn join(self, graphs: &mut Vec<u64>) -> Join<A, B> {
        graphs.extend([self.0.graph, self.1.graph]);
        Join { left: self.0.source, right: self.1.source }
    }
}

impl<D: Determinism, A, B, C, K> Joinable<D> for (Input<A, K>, Input<B, K>, Input<C, K>)
where
    A: Source,
    B: Source<S = A::S>,
    C: Source<S = A::S>,
    K: UsableIn<D>,
{
    type Source = Flat<Join<Join<A, B>, C>, 3>;

    fn join(self, graphs: &mut Vec<u64>) -> Self::Source {
        graphs.extend([self.0.graph, self.1.graph, self.2.graph]);
        let left = Join { left: self.0.source, right: self.1.source };
        Flat { inner: Join { left, right: self.2.source } }
    }
}

impl<D: Determinism, A, B, C, E, K> Joinable<D>
    for (Input<A, K>, Input<B, K>, Input<C, K>, Input<E, K>)
where
    A: Source,
    B: Source<S = A::S>,
    C: Source<S = A::S>,
    E: Source<S = A::S>,
    K: UsableIn<D>,
{
    type Source = Flat<Join<Join<Join<A, B>, C>, E>, 4>;

    fn join(self, graphs: &mut Vec<u64>) -> Self::Source {
        graphs.extend([self.0.graph, self.1.graph, self.2.graph, self.3.graph]);
        let left = Join { left: self.0.source, right: self.1.source };
        let left = Join { left, right: self.2.source };
        Flat { inner: Join { left, right: self.3.source } }
    }
}

impl<D: Determinism, X: Source, K: UsableIn<D>> Joinable<D> for Vec<Input<X, K>> {
    type Source = JoinAll<X>;

    fn join(self, graphs: &mut Vec<u64>) -> JoinAll<X> {
        graphs.extend(self.iter().map(|end| end.graph));
        JoinAll::new(self.into_iter().map(|end| end.source).collect())
    }
}
