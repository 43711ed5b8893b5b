//! What a channel or a lock is called in messages.

use core::fmt;
use std::sync::Arc;

use leno_kernel::{Name, Object};

/// A name, or the number of a nameless one. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Label {
    object: Object,
    name: Option<Arc<Name>>,
}

impl Label {
    pub(crate) fn new(object: Object, name: Option<Arc<Name>>) -> Label {
        Label { object, name }
    }

    /// The object that reasons and reports speak of.
    pub fn object(&self) -> Object {
        self.object
    }

    /// The name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_ref()?.as_str()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => name.or_id(self.object.number()).fmt(f),
            None => Name::NONE.or_id(self.object.number()).fmt(f),
        }
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Label({self})")
    }
}

/// Gives a channel a name: one end, or both as they come.
///
/// # Examples
/// ```
/// use leno_channel::{Named, bounded};
///
/// let (tx, rx) = bounded::<u32>(1).named("work");
/// drop(tx);
/// assert_eq!(rx.recv().unwrap_err().to_string(), "channel 'work' is closed");
/// ```
pub trait Named: Sized {
    /// Names it; messages use the name instead of the number.
    #[must_use = "it gives back what it names"]
    fn named(self, name: impl Into<Name>) -> Self;
}
