//! An end whose reader is told that nothing will come, and goes on.
//!
//! Skaller 2017 has no close: a reader that nobody can feed starves, and a test for the end of data is
//! held unsound, because it asks about the future. Porsev 2023 has one. A closable end is the bridge:
//! when all who could write are gone or removed, its reader gets the close instead of starving.
//!
//! So its reader is not removed together with those who could write to it. In a circle they are
//! removed, which is the close; see `leno_kernel::layer::ledger`. A circle of readers that all wait to be
//! told stays, and is reported: were one told, it would go on, and could write to another that has
//! been told that nobody will.

use core::fmt;

use leno_channel::RecvError;
use leno_kernel::layer::ledger::Knower;

use crate::bind::Ends;
use crate::scheduler::Doing;
use crate::{Cx, In};

/// An end to read from that tells when nothing will come any more.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, run};
///
/// let ran = run(|cx| {
///     let (out, inp) = channel();
///     cx.spawn(move |cx| (1..=4).for_each(|n| out.write(cx, n)));
///     inp.closable().iter(cx).sum::<u32>()
/// });
/// assert_eq!(ran.result(), Some(10));
/// ```
pub struct Closable<T> {
    end: In<T>,
}

impl<T> In<T> {
    /// Makes it tell when all who could write are gone, instead of letting its fibre starve.
    pub fn closable(self) -> Closable<T> {
        Closable { end: self }
    }
}

impl<T> Closable<T> {
    /// Reads a value; `None` when all ends to write to are gone.
    ///
    /// # Blocking
    /// As [`In::read`].
    ///
    /// # Cancellation
    /// When the fibre is to end, this unwinds its stack.
    ///
    /// # Panics
    /// As [`In::read`].
    #[track_caller]
    pub fn read(&self, cx: &Cx<'_>) -> Option<T> {
        cx.does(Doing::Reads);
        cx.held(|held| held.reads(|| self.end.label()));
        match self.end.receiver.recv_or_close() {
            Ok(value) => Some(value),
            Err(RecvError::Closed(_)) => None,
            Err(error) => panic!("fibre {} cannot read: {error}", cx.co()),
        }
    }

    /// What is written, until all ends to write to are gone: unlike [`In::iter`], it has an end.
    ///
    /// # Blocking
    /// Each value as [`Self::read`].
    ///
    /// # Panics
    /// As [`Self::read`].
    pub fn iter<'a>(&'a self, cx: &'a Cx<'_>) -> impl Iterator<Item = T> + 'a {
        core::iter::from_fn(move || self.read(cx))
    }
}

impl<T: 'static> Ends for Closable<T> {
    fn pass_to(&mut self, knower: Knower) {
        self.end.pass_to(knower);
    }
}

impl<T> fmt::Debug for Closable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Closable({})", self.end.label())
    }
}
