//! Ends that are bound to a fibre, so that the runtime knows exactly who knows what.
//!
//! A bound end has the brand of its fibre, a lifetime that nothing outside can name: it can be kept in
//! the fibre's own variables, and nowhere else. So if all who wait at a channel, and all who know its
//! other end, can never run again, that is known, circles included, without searching memory.
//!
//! A bound end may be used wherever a reference to a free one may. A clone that is made through such a
//! reference is a free end, and counts as one.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use leno_kernel::Co;
use leno_kernel::layer::ledger::Knower;

use crate::{Cx, In, Out};

/// Invariant in `'f`, so that no two fibres share it.
pub(crate) type Brand<'f> = PhantomData<fn(&'f ()) -> &'f ()>;

/// A fibre that ends are bound to; the brand is its own.
#[doc(hidden)]
pub struct Holder<'f> {
    co: Co,
    brand: Brand<'f>,
}

impl<'f> Holder<'f> {
    pub(crate) fn new(co: Co) -> Holder<'f> {
        Holder { co, brand: PhantomData }
    }
}

/// What can be given to a fibre at its spawn, so that it alone knows it: ends, and tuples, vectors and
/// options of ends. See [`Cx::spawn_bound`].
pub trait Bind: Sized + 'static {
    /// The same, bound to the fibre `'f`.
    type Bound<'f>;

    /// Binds it to the running fibre, which alone knows it from now on.
    ///
    /// # Panics
    /// When `cx` is not the running fibre's.
    #[track_caller]
    fn bind<'f>(self, cx: &Cx<'f>) -> Self::Bound<'f> {
        cx.check();
        self.bind_to(&Holder::new(cx.co()))
    }

    /// The same, for whoever it may be.
    #[doc(hidden)]
    fn bind_to<'f>(self, holder: &Holder<'f>) -> Self::Bound<'f>;

    /// From now on this one knows it.
    #[doc(hidden)]
    fn hand_to(bound: Self::Bound<'_>, knower: Knower) -> Self;

    /// Makes it free again: the world knows it from now on.
    fn unbind(bound: Self::Bound<'_>) -> Self {
        Self::hand_to(bound, Knower::World)
    }
}

/// A free end, or several that belong together; the world knows it.
pub trait Ends: 'static {
    /// From now on this one knows it.
    #[doc(hidden)]
    fn pass_to(&mut self, knower: Knower);
}

/// Ends that are bound to the fibre `'f`. It can be used like the free ones, and does not leave the
/// fibre.
///
/// # Examples
/// ```
/// use leno_fibre::{In, channel, run};
///
/// // What takes a reference to a free end takes one to a bound end.
/// fn next(cx: &leno_fibre::Cx<'_>, inp: &In<u32>) -> u32 {
///     inp.read(cx)
/// }
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     let next = cx.spawn_bound(inp, |cx, inp| next(cx, &inp));
///     out.write(cx, 7);
///     next.join(cx).unwrap()
/// });
/// assert_eq!(ran.result(), Some(7));
/// ```
pub struct Bound<'f, X> {
    free: X,
    brand: Brand<'f>,
}

/// An end to read from that is bound to the fibre `'f`.
pub type BoundIn<'f, T> = Bound<'f, In<T>>;

/// An end to write to that is bound to the fibre `'f`.
pub type BoundOut<'f, T> = Bound<'f, Out<T>>;

impl<'f, X: Ends> Bound<'f, X> {
    /// Makes it free: the world knows it from now on.
    pub fn unbind(mut self) -> X {
        self.free.pass_to(Knower::World);
        self.free
    }

    /// Another one, bound to the same fibre.
    ///
    /// # Panics
    /// When `cx` is not the running fibre's.
    #[track_caller]
    pub fn another(&self, cx: &Cx<'f>) -> Bound<'f, X>
    where
        X: Clone,
    {
        cx.check();
        self.free.clone().bind(cx)
    }
}

impl<X: Ends> Bind for X {
    type Bound<'f> = Bound<'f, X>;

    fn bind_to<'f>(mut self, holder: &Holder<'f>) -> Bound<'f, X> {
        self.pass_to(Knower::Co(holder.co));
        Bound { free: self, brand: holder.brand }
    }

    fn hand_to(mut bound: Bound<'_, X>, knower: Knower) -> X {
        bound.free.pass_to(knower);
        bound.free
    }
}

impl<X> Deref for Bound<'_, X> {
    type Target = X;

    fn deref(&self) -> &X {
        &self.free
    }
}

impl<X: fmt::Debug> fmt::Debug for Bound<'_, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bound {:?}", self.free)
    }
}

macro_rules! tuple {
    ($($name:ident $bound:ident),*) => {
        impl<$($name: Bind),*> Bind for ($($name,)*) {
            type Bound<'f> = ($($name::Bound<'f>,)*);

            #[allow(non_snake_case, unused_variables, clippy::unused_unit, reason = "also of none")]
            fn bind_to<'f>(self, holder: &Holder<'f>) -> Self::Bound<'f> {
                let ($($name,)*) = self;
                ($($name.bind_to(holder),)*)
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "also of none")]
            fn hand_to(bound: Self::Bound<'_>, knower: Knower) -> Self {
                let ($($bound,)*) = bound;
                ($($name::hand_to($bound, knower),)*)
            }
        }
    };
}

tuple!();
tuple!(A a);
tuple!(A a, B b);
tuple!(A a, B b, C c);
tuple!(A a, B b, C c, D d);
tuple!(A a, B b, C c, D d, E e);
tuple!(A a, B b, C c, D d, E e, F f);

impl<E: Bind> Bind for Vec<E> {
    type Bound<'f> = Vec<E::Bound<'f>>;

    fn bind_to<'f>(self, holder: &Holder<'f>) -> Vec<E::Bound<'f>> {
        self.into_iter().map(|end| end.bind_to(holder)).collect()
    }

    fn hand_to(bound: Vec<E::Bound<'_>>, knower: Knower) -> Vec<E> {
        bound.into_iter().map(|end| E::hand_to(end, knower)).collect()
    }
}

impl<E: Bind> Bind for Option<E> {
    type Bound<'f> = Option<E::Bound<'f>>;

    fn bind_to<'f>(self, holder: &Holder<'f>) -> Option<E::Bound<'f>> {
        self.map(|end| end.bind_to(holder))
    }

    fn hand_to(bound: Option<E::Bound<'_>>, knower: Knower) -> Option<E> {
        bound.map(|end| E::hand_to(end, knower))
    }
}
