//! Channels that carry bound ends from one fibre to another.
//!
//! A free end may be written to any channel; on its way, and for ever, the world knows it. A bound end
//! cannot leave its fibre but by these channels: on its way it is known to whoever can read from the
//! channel that carries it, and then to the fibre that has read it. So a circle that was closed by
//! passing ends around is still removed.

use core::fmt;

use leno_kernel::layer::ledger::Knower;

use crate::bind::{Bind, Ends};
use crate::{Cx, In, Out, channel};

/// Ends on their way. Nobody but the two sides below ever has one in hand.
struct Parcel<E>(E);

/// Where bound ends are sent.
pub struct ParcelOut<E> {
    out: Out<Parcel<E>>,
}

/// Where bound ends arrive.
pub struct ParcelIn<E> {
    inp: In<Parcel<E>>,
}

/// A channel for bound ends.
///
/// # Examples
/// ```
/// use leno_fibre::{Out, channel, parcels, run};
///
/// let ran = run(|cx| {
///     let (post, letters) = parcels::<Out<u32>>();
///     let (out, inp) = channel();
///     cx.spawn_bound(letters, |cx, letters| letters.receive(cx).write(cx, 42));
///     cx.spawn_bound((post, out), |cx, (post, out)| post.send(cx, out));
///     inp.read(cx)
/// });
/// assert_eq!(ran.result(), Some(42));
/// ```
pub fn parcels<E: Bind>() -> (ParcelOut<E>, ParcelIn<E>) {
    let (out, inp) = channel();
    (ParcelOut { out }, ParcelIn { inp })
}

impl<E: Bind> ParcelOut<E> {
    /// Gives bound ends to whoever receives them.
    ///
    /// # Blocking
    /// As [`Out::write`].
    ///
    /// # Cancellation
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn send<'f>(&self, cx: &Cx<'f>, ends: E::Bound<'f>) {
        let parcel = Parcel(E::hand_to(ends, Knower::Parcel(self.out.object())));
        self.out.write(cx, parcel);
    }
}

impl<E: Bind> ParcelIn<E> {
    /// Takes ends, which are bound to the calling fibre from now on.
    ///
    /// # Blocking
    /// As [`In::read`].
    ///
    /// # Cancellation
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn receive<'f>(&self, cx: &Cx<'f>) -> E::Bound<'f> {
        self.inp.read(cx).0.bind(cx)
    }
}

impl<E: Bind> Ends for ParcelOut<E> {
    fn pass_to(&mut self, knower: Knower) {
        self.out.pass_to(knower);
    }
}

impl<E: Bind> Ends for ParcelIn<E> {
    fn pass_to(&mut self, knower: Knower) {
        self.inp.pass_to(knower);
    }
}

impl<E> Clone for ParcelOut<E> {
    fn clone(&self) -> ParcelOut<E> {
        ParcelOut { out: self.out.clone() }
    }
}

impl<E> Clone for ParcelIn<E> {
    fn clone(&self) -> ParcelIn<E> {
        ParcelIn { inp: self.inp.clone() }
    }
}

impl<E> fmt::Debug for ParcelOut<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParcelOut({})", self.out.label())
    }
}

impl<E> fmt::Debug for ParcelIn<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParcelIn({})", self.inp.label())
    }
}
