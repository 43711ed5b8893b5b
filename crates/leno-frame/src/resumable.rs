//! Coroutines made of frames.

use std::fmt;
use std::marker::PhantomData;

use crate::drive::{Stack, Stop};
use crate::error::ResumeError;
use crate::handle::{Seed, frame_of};
use crate::raw::frame::Frame;
use crate::raw::lent;
use crate::routine::{Entry, Routine};

/// What a coroutine has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State<Y, T> {
    /// It is suspended, with this value.
    Suspended(Y),
    /// It has returned this value.
    Complete(T),
}

impl<Y, T> State<Y, T> {
    /// What it was suspended with.
    pub fn suspended(self) -> Option<Y> {
        match self {
            State::Suspended(value) => Some(value),
            State::Complete(_) => None,
        }
    }

    /// What it has returned.
    pub fn complete(self) -> Option<T> {
        match self {
            State::Suspended(_) => None,
            State::Complete(value) => Some(value),
        }
    }
}

/// A coroutine whose suspended state can be stored: it suspends with `Y`, goes on with `I`, returns `T`,
/// and is lent a `C` while it runs.
///
/// It is an [`Iterator`] over what it suspends with if it takes no input and no context. It is `Send`:
/// only data is alive while it is suspended.
///
/// ```
/// use leno_frame::{Co, Format, Image, Options, Resumable, State, resumable};
///
/// #[resumable]
/// async fn sum(co: &mut Co<u32, u32>, count: u32) -> u32 {
///     let mut sum = 0;
///     for i in 0..count {
///         sum += co.suspend(i).await;
///     }
///     sum
/// }
///
/// let (mut adding, state) = Resumable::start(&mut (), sum, (3,));
/// assert_eq!(state, State::Suspended(0));
/// adding.resume(&mut (), 10);
/// let bytes = adding.snapshot(Format::Postcard)?.into_bytes();
/// drop(adding);
///
/// let image = Image::from_bytes(bytes)?;
/// let mut adding = Resumable::restore(sum, &image, &Options::new())?;
/// assert_eq!(adding.resume(&mut (), 20), State::Suspended(2));
/// assert_eq!(adding.resume(&mut (), 30), State::Complete(60));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Resumable<Y, I, T, C = ()> {
    pub(crate) stack: Stack<Y, I, C>,
    _result: PhantomData<fn() -> T>,
}

impl<Y, I, T, C> Resumable<Y, I, T, C> {
    pub(crate) fn empty() -> Self {
        Resumable { stack: Stack::new(), _result: PhantomData }
    }

    /// How many functions it is in: one for the function it started with, and one for each call that
    /// has not returned. 0 if it has completed.
    pub fn depth(&self) -> usize {
        self.stack.depth()
    }

    /// Whether it has returned.
    pub fn is_complete(&self) -> bool {
        self.depth() == 0 && !self.is_poisoned()
    }

    /// Whether it has panicked. It cannot go on then; what is left of it is its last image.
    pub fn is_poisoned(&self) -> bool {
        self.stack.poisoned
    }
}

impl<Y: Send + 'static, I: Send + 'static, T: Send + 'static, C: 'static> Resumable<Y, I, T, C> {
    /// Makes a coroutine and runs it to its first suspension. `args` are the arguments of `entry` after
    /// its handle, as a tuple.
    ///
    /// # Panics
    /// If the body panics; the payload is the body's.
    pub fn start<R, A, F>(context: &mut C, entry: F, args: A) -> (Self, State<Y, T>)
    where
        R: Routine<Yield = Y, Input = I, Context = C, Output = T>,
        F: Entry<R, A>,
    {
        let mut this = Self::empty();
        let link = this.stack.owner.link();
        let call = entry.call(Seed::new(link).handle(), args);
        let frame = frame_of(link, Some(call));
        this.stack.push(frame);
        let state = this.drive(context, Stack::run_first);
        (this, state)
    }

    /// Goes on from its suspension, with this input, until it suspends again or returns.
    ///
    /// # Panics
    /// If it has completed, or panicked earlier: see [`Resumable::try_resume`]. If the body panics; then
    /// the payload is the body's, and the coroutine is poisoned.
    #[inline]
    pub fn resume(&mut self, context: &mut C, input: I) -> State<Y, T> {
        self.try_resume(context, input).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`Resumable::resume`], with an error instead of a panic if there is nothing to resume.
    ///
    /// # Errors
    /// If it has completed, or panicked earlier; the input is given back.
    ///
    /// # Panics
    /// If the body panics.
    #[inline]
    pub fn try_resume(&mut self, context: &mut C, input: I) -> Result<State<Y, T>, ResumeError<I>> {
        if self.stack.poisoned {
            return Err(ResumeError::Poisoned(input));
        }
        if self.stack.depth() == 0 {
            return Err(ResumeError::Completed(input));
        }
        self.stack.owner.core().input.set(Some(input));
        Ok(self.drive(context, Stack::run))
    }

    #[inline]
    fn drive(
        &mut self,
        context: &mut C,
        run: impl FnOnce(&mut Stack<Y, I, C>) -> bool,
    ) -> State<Y, T> {
        let link = self.stack.owner.link();
        let lent = lent::lend(link.core(), context);
        if !run(&mut self.stack)
            && let Some(stop) = self.run_on()
        {
            drop(lent);
            return completed(stop);
        }
        drop(lent);
        State::Suspended(link.core().yielded.take().expect("it has yielded"))
    }

    /// How it has ended, if it has not yielded.
    #[inline(never)]
    fn run_on(&mut self) -> Option<Stop> {
        let stop = self.stack.run_on();
        if matches!(stop, Stop::Stray | Stop::Leaf) {
            // The frame may hold what is lent, so it goes before that does.
            self.stack.poisoned = true;
            if let Some(panic) = self.stack.clear() {
                panic.resume();
            }
        }
        (!matches!(stop, Stop::Yielded)).then_some(stop)
    }
}

#[inline(never)]
fn completed<Y, T: 'static>(stop: Stop) -> State<Y, T> {
    match stop {
        Stop::Done(mut frame) => State::Complete(result_of(&mut frame)),
        _ => panic!(
            "a resumable fn has awaited something that is neither a suspension nor a call of \
             another one, inside a macro: only what is written in its body can be stored"
        ),
    }
}

fn result_of<T: 'static>(frame: &mut Frame) -> T {
    let mut result: Option<T> = None;
    frame.as_mut().result(&mut result);
    result.expect("a frame that is done has a result, of its routine's type")
}

/// What the coroutine is suspended with next, until it returns. The value it returns is not an item; that
/// of the first suspension was returned by [`Resumable::start`], see [`crate::iterate`].
impl<Y: Send + 'static, T: Send + 'static> Iterator for Resumable<Y, (), T, ()> {
    type Item = Y;

    fn next(&mut self) -> Option<Y> {
        self.try_resume(&mut (), ()).ok()?.suspended()
    }
}

impl<Y, I, T, C> fmt::Debug for Resumable<Y, I, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Resumable");
        shown.field("depth", &self.depth()).field("poisoned", &self.is_poisoned()).finish()
    }
}
