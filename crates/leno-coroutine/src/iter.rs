//! A coroutine that takes no input is an iterator of what it suspends with.

use core::fmt;
use core::iter::FusedIterator;

use crate::migrate::Migrant;
use crate::{Coroutine, ScopedCoroutine, Step, shared};

mod sealed {
    use crate::Step;

    /// What an iterator needs of a handle.
    pub trait Handle {
        type Out;
        type Ret;

        /// Resumes it, unless it is finished.
        fn next(&self) -> Option<Step<Self::Out, Self::Ret>>;
    }
}
use sealed::Handle;

/// A handle of a coroutine that takes no input, which can therefore be iterated over: any of
/// leno's asymmetric ones.
pub trait Iterable: Handle {}

impl<C: Handle> Iterable for C {}

/// Iterates over what a coroutine suspends with; made by `for x in &coroutine`, and by `iter` as in
/// [`Coroutine::iter`].
///
/// The body's result is not part of the iteration; it is kept for [`Iter::into_result`].
///
/// # Panics
/// As resuming the coroutine does.
pub struct Iter<'a, C: Iterable> {
    coroutine: &'a C,
    result: Option<C::Ret>,
}

/// Owns the coroutine it iterates over; made by `for x in coroutine`.
///
/// # Panics
/// As resuming the coroutine does.
pub struct IntoIter<C: Iterable> {
    coroutine: C,
    result: Option<C::Ret>,
}

impl<'a, C: Iterable> Iter<'a, C> {
    pub(crate) fn new(coroutine: &'a C) -> Self {
        Iter { coroutine, result: None }
    }

    /// The body's result, if this iteration reached the end.
    pub fn into_result(self) -> Option<C::Ret> {
        self.result
    }
}

impl<C: Iterable> IntoIter<C> {
    /// The body's result, if this iteration reached the end.
    pub fn into_result(self) -> Option<C::Ret> {
        self.result
    }
}

#[inline]
fn next<C: Iterable>(coroutine: &C, result: &mut Option<C::Ret>) -> Option<C::Out> {
    match coroutine.next()? {
        Step::Suspended(out) => Some(out),
        Step::Finished(ret) => {
            *result = Some(ret);
            None
        }
    }
}

impl<C: Iterable> Iterator for Iter<'_, C> {
    type Item = C::Out;

    #[inline]
    fn next(&mut self) -> Option<C::Out> {
        next(self.coroutine, &mut self.result)
    }
}

impl<C: Iterable> Iterator for IntoIter<C> {
    type Item = C::Out;

    #[inline]
    fn next(&mut self) -> Option<C::Out> {
        next(&self.coroutine, &mut self.result)
    }
}

impl<C: Iterable> FusedIterator for Iter<'_, C> {}
impl<C: Iterable> FusedIterator for IntoIter<C> {}

impl<C: Iterable + fmt::Debug> fmt::Debug for Iter<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Iter").field(self.coroutine).finish()
    }
}

impl<C: Iterable + fmt::Debug> fmt::Debug for IntoIter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoIter").field(&self.coroutine).finish()
    }
}

macro_rules! iterable {
    ($($handle:ident)::+ $(<$scope:lifetime>)?) => {
        impl<$($scope,)? Out, Ret> Handle for $($handle)::+<$($scope,)? (), Out, Ret> {
            type Out = Out;
            type Ret = Ret;

            #[inline]
            fn next(&self) -> Option<Step<Out, Ret>> {
                if self.is_finished() { None } else { Some(self.resume(())) }
            }
        }

        impl<$($scope,)? Out, Ret> IntoIterator for $($handle)::+<$($scope,)? (), Out, Ret> {
            type Item = Out;
            type IntoIter = IntoIter<Self>;

            fn into_iter(self) -> IntoIter<Self> {
                IntoIter { coroutine: self, result: None }
            }
        }

        impl<'a, $($scope,)? Out, Ret> IntoIterator
            for &'a $($handle)::+<$($scope,)? (), Out, Ret>
        {
            type Item = Out;
            type IntoIter = Iter<'a, $($handle)::+<$($scope,)? (), Out, Ret>>;

            fn into_iter(self) -> Self::IntoIter {
                Iter::new(self)
            }
        }
    };
}

iterable!(Coroutine);
iterable!(ScopedCoroutine<'scope>);
iterable!(shared::Coroutine);
iterable!(Migrant);

impl<Out, Ret> Coroutine<(), Out, Ret> {
    /// Iterates over what it suspends with from here on.
    pub fn iter(&self) -> Iter<'_, Self> {
        Iter::new(self)
    }
}

impl<Out, Ret> shared::Coroutine<(), Out, Ret> {
    /// Iterates over what it suspends with from here on.
    pub fn iter(&self) -> Iter<'_, Self> {
        Iter::new(self)
    }
}

impl<Out, Ret> Migrant<(), Out, Ret> {
    /// Iterates over what it suspends with from here on, while it belongs to this thread.
    pub fn iter(&self) -> Iter<'_, Self> {
        Iter::new(self)
    }
}
