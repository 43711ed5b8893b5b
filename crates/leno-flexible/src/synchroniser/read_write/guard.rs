//! Leave to be inside.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{RwLockReadGuard, RwLockWriteGuard};

use super::desks::Token;

/// Leave to read, until it is dropped; see [`ReadWrite::read`](super::ReadWrite::read).
#[must_use = "whoever drops it has left"]
pub struct ReadGuard<'a, T> {
    // Dropped first.
    pub(super) value: RwLockReadGuard<'a, T>,
    pub(super) _token: Token,
}

/// Leave to write, until it is dropped; see [`ReadWrite::write`](super::ReadWrite::write).
#[must_use = "whoever drops it has left"]
pub struct WriteGuard<'a, T> {
    // Dropped first.
    pub(super) value: RwLockWriteGuard<'a, T>,
    pub(super) _token: Token,
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
