//! State of a core, borrowed for short stretches in which no user code runs.
//!
//! Debug builds prove that: a borrow is a [`Section`]. Release builds pay what a [`RefCell`] costs.

use core::cell::{Ref, RefCell, RefMut};
use core::ops::{Deref, DerefMut};

use leno_context::user::Section;

/// See the module.
#[derive(Default)]
pub(crate) struct StateCell<T>(RefCell<T>);

/// A shared borrow.
pub(crate) struct Shared<'a, T> {
    value: Ref<'a, T>,
    _section: Section,
}

/// An exclusive borrow.
pub(crate) struct Exclusive<'a, T> {
    value: RefMut<'a, T>,
    _section: Section,
}

impl<T> StateCell<T> {
    pub(crate) const fn new(value: T) -> StateCell<T> {
        StateCell(RefCell::new(value))
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn borrow(&self) -> Shared<'_, T> {
        Shared { value: self.0.borrow(), _section: Section::open() }
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn borrow_mut(&self) -> Exclusive<'_, T> {
        Exclusive { value: self.0.borrow_mut(), _section: Section::open() }
    }

    /// Takes the value and leaves the default one.
    pub(crate) fn take(&self) -> T
    where
        T: Default,
    {
        self.0.take()
    }
}

impl<T> Deref for Shared<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for Exclusive<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Exclusive<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
