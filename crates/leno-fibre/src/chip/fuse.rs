//! Fusion: several stages as one coroutine, with no channel and no switch between them.
//!
//! A pipeline's principal type leaves open who goes on after each exchange inside. Choosing that each
//! value goes through all stages before the next one is read makes one loop of it: the channels between
//! are dropped, and the functions composed (Skaller 2017, 10.1). What comes out is the same, and what
//! happens outside is allowed by the principal type.
//!
//! There are two ways. Stages that are known when the program is compiled are a [`Stage`], and become
//! one loop, as iterators do. Chips that are put together while it runs are fused by
//! [`Chip::fused`](super::Chip::fused); a value then costs a call or two for each stage.

use core::fmt;
use core::marker::PhantomData;
use std::rc::Rc;

use leno_control::ControlType;

use super::one::Step;
use super::transducer::all;
use super::{Pipe, Transducer, typed};

/// What becomes of one value: some values, or none. Made by [`map`], [`keep`], [`each`] and
/// [`Stage::then`].
///
/// # Examples
/// ```
/// use leno_fibre::chip::fuse::{Stage, keep, map};
///
/// let stage = map(|n: u64| n + 1).then(keep(|n: &u64| n % 2 == 0)).then(map(|n| n * 10));
/// let mut sum = 0;
/// stage.drive(1..=4, |n| sum += n);
/// assert_eq!(sum, 20 + 40);
/// ```
pub trait Stage: Clone + 'static {
    /// What it takes.
    type In: 'static;
    /// What it gives.
    type Out: 'static;

    /// Takes a value, and gives what becomes of it to `give`.
    fn step(&mut self, input: Self::In, give: &mut impl FnMut(Self::Out));

    /// This one, and then the next: one stage.
    fn then<N: Stage<In = Self::Out>>(self, next: N) -> Then<Self, N> {
        Then { first: self, next }
    }

    /// A closed pipeline, as a loop: takes all inputs, and gives what becomes of them to `give`.
    fn drive(
        mut self,
        inputs: impl IntoIterator<Item = Self::In>,
        mut give: impl FnMut(Self::Out),
    ) {
        inputs.into_iter().for_each(|input| self.step(input, &mut give));
    }

    /// What it does as a chip: it reads a value and writes some, as often as it likes if it does not know
    /// better.
    fn control_type(&self) -> ControlType {
        typed::EXPANDER.clone()
    }

    /// An open pipeline, as one chip. It can be fused with others while the program runs.
    ///
    /// # Examples
    /// ```
    /// use leno_fibre::chip::fuse::{Stage, map};
    /// use leno_fibre::chip::{iterate, sink_to_list};
    /// use std::rc::Rc;
    ///
    /// let list = Rc::default();
    /// let fused = map(|n: u32| n + 1).then(map(|n| n * n)).chip();
    /// let closed = iterate(1..=3) | fused | sink_to_list(Rc::clone(&list));
    /// let ran = leno_fibre::run(move |cx| closed.start(cx, ()));
    /// assert_eq!(*list.borrow(), [4, 9, 16]);
    /// assert_eq!(ran.report().spawned, 4, "source, sink, one chip, and who started them");
    /// ```
    fn chip(self) -> Transducer<Self::In, Self::Out> {
        let control = self.control_type();
        let make = move || -> Step<Self::In, Self::Out> {
            let mut stage = self.clone();
            Box::new(move |input, give| all(give, |mut give| stage.step(input, &mut give)))
        };
        Transducer::of_machine("fused", Rc::new(make)).typed(control)
    }
}

/// Two stages as one.
#[derive(Clone, Debug)]
pub struct Then<A, B> {
    first: A,
    next: B,
}

impl<A: Stage, B: Stage<In = A::Out>> Stage for Then<A, B> {
    type In = A::In;
    type Out = B::Out;

    #[inline]
    fn step(&mut self, input: A::In, give: &mut impl FnMut(B::Out)) {
        let Then { first, next } = self;
        first.step(input, &mut |between| next.step(between, give));
    }

    fn control_type(&self) -> ControlType {
        let both = [self.first.control_type(), self.next.control_type()];
        leno_control::fused(&both).unwrap_or_else(|_| typed::EXPANDER.clone())
    }
}

/// What becomes of a value: one value, or none.
pub struct Each<F, A, B> {
    f: F,
    /// There is always one.
    is_total: bool,
    types: PhantomData<fn(A) -> B>,
}

impl<A: 'static, B: 'static, F: FnMut(A) -> Option<B> + Clone + 'static> Stage for Each<F, A, B> {
    type In = A;
    type Out = B;

    #[inline]
    fn step(&mut self, input: A, give: &mut impl FnMut(B)) {
        if let Some(output) = (self.f)(input) {
            give(output);
        }
    }

    fn control_type(&self) -> ControlType {
        if self.is_total { typed::FUNCTION.clone() } else { typed::PARTIAL.clone() }
    }
}

impl<F: Clone, A, B> Clone for Each<F, A, B> {
    fn clone(&self) -> Each<F, A, B> {
        Each { f: self.f.clone(), is_total: self.is_total, types: PhantomData }
    }
}

impl<F, A, B> fmt::Debug for Each<F, A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Each")
    }
}

/// What a partial function makes of a value, if it is defined there.
pub fn each<A: 'static, B: 'static, F: FnMut(A) -> Option<B> + Clone + 'static>(
    f: F,
) -> Each<F, A, B> {
    Each { f, is_total: false, types: PhantomData }
}

/// What a function makes of a value.
pub fn map<A: 'static, B: 'static>(
    mut f: impl FnMut(A) -> B + Clone + 'static,
) -> impl Stage<In = A, Out = B> {
    Each { is_total: true, ..each(move |input| Some(f(input))) }
}

/// The value itself, if it meets a condition.
pub fn keep<A: 'static>(
    mut condition: impl FnMut(&A) -> bool + Clone + 'static,
) -> impl Stage<In = A, Out = A> {
    each(move |input| condition(&input).then_some(input))
}

impl<A: 'static, B: 'static> Transducer<A, B> {
    /// As [`Pipe::pipe`], but as one fibre, as by [`Chip::fused`](super::Chip::fused). Where that cannot
    /// be, they are piped.
    ///
    /// # Panics
    /// When their control types cannot work together.
    ///
    /// # Examples
    /// ```
    /// use leno_fibre::chip::{function, iterate, sink_to_list};
    /// use std::rc::Rc;
    ///
    /// let list = Rc::default();
    /// let stages = (1..=9).map(|n| function(move |x: u64| x + n));
    /// let fused = stages.reduce(|before, next| before.fuse(next)).unwrap();
    /// assert_eq!(fused.control_type().unwrap().to_string(), "(RW)+");
    /// let closed = iterate([0, 5]) | fused | sink_to_list(Rc::clone(&list));
    /// leno_fibre::run(move |cx| closed.start(cx, ()));
    /// assert_eq!(*list.borrow(), [45, 50]);
    /// ```
    #[track_caller]
    pub fn fuse<C: 'static>(self, next: Transducer<B, C>) -> Transducer<A, C> {
        self.pipe(next).fused()
    }
}
