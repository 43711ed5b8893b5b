//! Bodies written for other types than the coroutine's own.
//!
//! A body that takes less specific inputs and gives more specific outputs than its coroutine fits
//! (Stadler 2011 has this as variance of type parameters). Lifetimes fit by themselves:
//! [`Suspender`] is covariant in `In` and contravariant in `Out`. For other conversions a body
//! takes `&impl Suspend<In, Out>` and is given a [`Mapped`] one.

use crate::Suspender;

/// Something a body can suspend through.
pub trait Suspend<In, Out> {
    /// Hands `out` to whoever resumed the coroutine, and returns the next input.
    ///
    /// # Panics
    /// As [`Suspender::suspend`].
    #[track_caller]
    fn suspend(&self, out: Out) -> In;
}

impl<In, Out> Suspend<In, Out> for Suspender<In, Out> {
    fn suspend(&self, out: Out) -> In {
        Suspender::suspend(self, out)
    }
}

/// A [`Suspend`] that converts inputs and outputs; made by [`Suspender::map`].
#[derive(Debug)]
pub struct Mapped<'a, In, Out, I, O> {
    inner: &'a Suspender<In, Out>,
    input: I,
    output: O,
}

impl<In, Out> Suspender<In, Out> {
    /// A view of this suspender that takes and gives other types.
    ///
    /// # Examples
    /// ```
    /// # use leno_coroutine as leno;
    /// use leno::{Coroutine, Step, Suspend};
    ///
    /// fn count(co: &impl Suspend<i64, u8>, first: i64) -> u8 {
    ///     (co.suspend(first as u8) + 1) as u8
    /// }
    /// // A coroutine of i32 in and String out runs a body of i64 in and u8 out.
    /// let co = Coroutine::new(|co, first: i32| {
    ///     count(&co.map(i64::from, |n: u8| n.to_string()), first.into())
    /// });
    /// assert_eq!(co.resume(7), Step::Suspended("7".to_owned()));
    /// assert_eq!(co.resume(8), Step::Finished(9));
    /// ```
    pub fn map<I, O>(&self, input: I, output: O) -> Mapped<'_, In, Out, I, O> {
        Mapped { inner: self, input, output }
    }
}

impl<In, Out, In2, Out2, I, O> Suspend<In2, Out2> for Mapped<'_, In, Out, I, O>
where
    I: Fn(In) -> In2,
    O: Fn(Out2) -> Out,
{
    fn suspend(&self, out: Out2) -> In2 {
        (self.input)(self.inner.suspend((self.output)(out)))
    }
}
