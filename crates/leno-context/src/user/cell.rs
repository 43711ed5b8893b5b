//! State of leno's own, borrowed for short stretches in which no user code runs.

use core::cell::{Ref, RefCell, RefMut};
use core::fmt;
use core::ops::{Deref, DerefMut};

use super::Section;

/// A [`RefCell`] of which every borrow is a [`Section`]: debug builds notice user code that is called meanwhile. Release
/// builds pay what a [`RefCell`] costs.
#[derive(Default)]
pub struct StateCell<T>(RefCell<T>);

/// A shared borrow of a [`StateCell`].
#[must_use = "the borrow ends when this is dropped"]
pub struct StateRef<'a, T> {
    value: Ref<'a, T>,
    _section: Section,
}

/// An exclusive borrow of a [`StateCell`].
#[must_use = "the borrow ends when this is dropped"]
pub struct StateRefMut<'a, T> {
    value: RefMut<'a, T>,
    _section: Section,
}

impl<T> StateCell<T> {
    /// Makes one.
    pub const fn new(value: T) -> StateCell<T> {
        StateCell(RefCell::new(value))
    }

    /// Borrows it for reading.
    ///
    /// # Panics
    /// While it is borrowed for writing.
    #[inline(always)]
    #[track_caller]
    pub fn borrow(&self) -> StateRef<'_, T> {
        StateRef { value: self.0.borrow(), _section: Section::open() }
    }

    /// Borrows it for writing.
    ///
    /// # Panics
    /// While it is borrowed.
    #[inline(always)]
    #[track_caller]
    pub fn borrow_mut(&self) -> StateRefMut<'_, T> {
        StateRefMut { value: self.0.borrow_mut(), _section: Section::open() }
    }

    /// Takes the value and leaves the default one.
    ///
    /// # Panics
    /// While it is borrowed.
    #[inline(always)]
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.0.take()
    }
}

impl<T> Deref for StateRef<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for StateRefMut<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for StateRefMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> fmt::Debug for StateCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateCell")
    }
}

impl<T> fmt::Debug for StateRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateRef")
    }
}

impl<T> fmt::Debug for StateRefMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateRefMut")
    }
}
