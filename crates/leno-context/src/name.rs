//! What a coroutine is called in messages.

use std::borrow::Cow;
use std::fmt;

/// A coroutine's name, if it was given one. Prints as `'name'`, or as `#id` for a nameless one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name(Option<Cow<'static, str>>);

impl Name {
    /// The name of a coroutine nobody named.
    pub const NONE: Name = Name(None);

    /// The given text, if any.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The name as messages show it: quoted, or the id.
    pub fn or_id(&self, id: u64) -> impl fmt::Display + '_ {
        Shown { name: self.as_str(), id }
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Name {
    fn from(text: T) -> Self {
        Name(Some(text.into()))
    }
}

struct Shown<'a> {
    name: Option<&'a str>,
    id: u64,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "'{name}'"),
            None => write!(f, "#{}", self.id),
        }
    }
}
