//! A coroutine that takes no input is an iterator of what it suspends with.

use crate::{Coroutine, Step};

/// Iterates over what a coroutine suspends with; made by [`Coroutine::iter`].
///
/// The body's result is not part of the iteration; it is kept for [`Iter::into_result`].
#[derive(Debug)]
pub struct Iter<'a, Out, Ret> {
    coroutine: &'a Coroutine<(), Out, Ret>,
    result: Option<Ret>,
}

impl<'a, Out, Ret> Iter<'a, Out, Ret> {
    pub(crate) fn new(coroutine: &'a Coroutine<(), Out, Ret>) -> Self {
        Iter { coroutine, result: None }
    }

    /// The body's result, if this iteration reached the end.
    pub fn into_result(self) -> Option<Ret> {
        self.result
    }
}

impl<Out, Ret> Iterator for Iter<'_, Out, Ret> {
    type Item = Out;

    #[inline]
    fn next(&mut self) -> Option<Out> {
        next(self.coroutine, &mut self.result)
    }
}

#[inline]
fn next<Out, Ret>(coroutine: &Coroutine<(), Out, Ret>, result: &mut Option<Ret>) -> Option<Out> {
    if coroutine.is_finished() {
        return None;
    }
    match coroutine.resume(()) {
        Step::Suspended(out) => Some(out),
        Step::Finished(ret) => {
            *result = Some(ret);
            None
        }
    }
}

impl<Out, Ret> core::iter::FusedIterator for Iter<'_, Out, Ret> {}

/// Owns the coroutine it iterates over; made by `for x in coroutine`.
#[derive(Debug)]
pub struct IntoIter<Out, Ret> {
    coroutine: Coroutine<(), Out, Ret>,
    result: Option<Ret>,
}

impl<Out, Ret> IntoIter<Out, Ret> {
    /// The body's result, if this iteration reached the end.
    pub fn into_result(self) -> Option<Ret> {
        self.result
    }
}

impl<Out, Ret> Iterator for IntoIter<Out, Ret> {
    type Item = Out;

    #[inline]
    fn next(&mut self) -> Option<Out> {
        next(&self.coroutine, &mut self.result)
    }
}

impl<Out, Ret> core::iter::FusedIterator for IntoIter<Out, Ret> {}

impl<Out, Ret> IntoIterator for Coroutine<(), Out, Ret> {
    type Item = Out;
    type IntoIter = IntoIter<Out, Ret>;

    fn into_iter(self) -> IntoIter<Out, Ret> {
        IntoIter { coroutine: self, result: None }
    }
}

impl<'a, Out, Ret> IntoIterator for &'a Coroutine<(), Out, Ret> {
    type Item = Out;
    type IntoIter = Iter<'a, Out, Ret>;

    fn into_iter(self) -> Iter<'a, Out, Ret> {
        self.iter()
    }
}
