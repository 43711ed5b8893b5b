//! Receiving as iteration.

use core::fmt;

use crate::Receiver;
use crate::flavour::{Flavour, Local};

/// Receives until the channel is closed; of [`Receiver::iter`].
pub struct Iter<'a, T, F: Flavour = Local> {
    receiver: &'a Receiver<T, F>,
}

/// Receives as long as there is something; of [`Receiver::try_iter`].
pub struct TryIter<'a, T, F: Flavour = Local> {
    receiver: &'a Receiver<T, F>,
}

/// Receives until the channel is closed, and owns its end.
pub struct IntoIter<T, F: Flavour = Local> {
    receiver: Receiver<T, F>,
}

impl<'a, T, F: Flavour> Iter<'a, T, F> {
    pub(crate) fn new(receiver: &'a Receiver<T, F>) -> Self {
        Iter { receiver }
    }
}

impl<'a, T, F: Flavour> TryIter<'a, T, F> {
    pub(crate) fn new(receiver: &'a Receiver<T, F>) -> Self {
        TryIter { receiver }
    }
}

impl<T, F: Flavour> IntoIter<T, F> {
    pub(crate) fn new(receiver: Receiver<T, F>) -> Self {
        IntoIter { receiver }
    }
}

impl<T, F: Flavour> Iterator for Iter<'_, T, F> {
    type Item = T;

    #[inline(always)]
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T, F: Flavour> Iterator for TryIter<'_, T, F> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T, F: Flavour> Iterator for IntoIter<T, F> {
    type Item = T;

    #[inline(always)]
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T, F: Flavour> fmt::Debug for Iter<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({})", self.receiver.label())
    }
}

impl<T, F: Flavour> fmt::Debug for TryIter<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TryIter({})", self.receiver.label())
    }
}

impl<T, F: Flavour> fmt::Debug for IntoIter<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IntoIter({})", self.receiver.label())
    }
}
