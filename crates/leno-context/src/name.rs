//! What a coroutine is called in messages.

use std::fmt;
use std::sync::Arc;

/// A coroutine's name, or none; cheap to clone. Messages show it in quotes, and the id of a
/// nameless one instead (`#7`): [`Name::or_id`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name(Text);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Text {
    #[default]
    None,
    Static(&'static str),
    Shared(Arc<str>),
}

impl Name {
    /// The name of a coroutine nobody named.
    pub const NONE: Name = Name(Text::None);

    /// The given text, if any.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Text::None => None,
            Text::Static(text) => Some(text),
            Text::Shared(text) => Some(text),
        }
    }

    /// The name as messages show it: quoted, or the id.
    pub fn or_id(&self, id: u64) -> impl fmt::Display + '_ {
        Shown { name: self.as_str(), id }
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Name(Text::Static(text))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Name(Text::Shared(text.into()))
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Self {
        Name(Text::Shared(text))
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
