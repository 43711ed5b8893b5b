//! What a session's suspension means, and what wakes it.

use std::time::Duration;

use leno_frame::json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a session is suspended with: what it says, and what it waits for.
///
/// A routine may suspend with this, with a `String` (a question: it waits for an answer), or with any type that
/// can be made into this.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    pub(crate) said: Value,
    pub(crate) until: Until,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    Now,
    After(Duration),
    Answer(Option<Duration>),
}

impl Wait {
    /// For an answer, for as long as it takes.
    pub fn answer(question: impl Serialize) -> Self {
        Wait { said: value(&question), until: Until::Answer(None) }
    }

    /// For an answer, or for this time. What comes of it is [`Wake::Timeout`] then.
    pub fn answer_within(question: impl Serialize, time: Duration) -> Self {
        Wait { said: value(&question), until: Until::Answer(Some(time)) }
    }

    /// For this time, by the store's clock.
    pub fn sleep(time: Duration) -> Self {
        Wait { said: Value::Null, until: Until::After(time) }
    }

    /// For nothing: a step ends here, is stored, and the next begins.
    pub fn step() -> Self {
        Wait { said: Value::Null, until: Until::Now }
    }

    /// With something to say meanwhile.
    #[must_use]
    pub fn saying(mut self, what: impl Serialize) -> Self {
        self.said = value(&what);
        self
    }
}

/// As JSON; what cannot be written says why.
pub(crate) fn value(what: &impl Serialize) -> Value {
    json::to_value(what).unwrap_or_else(|error| Value::String(format!("cannot be shown: {error}")))
}

/// What is said, as text of JSON; what cannot be written says why.
pub(crate) fn text_of(said: &Value) -> String {
    let written = json::to_vec(said).map_err(|error| error.to_string());
    let text = written.and_then(|text| String::from_utf8(text).map_err(|error| error.to_string()));
    text.unwrap_or_else(|error| Value::String(format!("cannot be shown: {error}")).to_string())
}

impl From<String> for Wait {
    fn from(question: String) -> Self {
        Wait::answer(question)
    }
}

impl From<&'static str> for Wait {
    fn from(question: &'static str) -> Self {
        Wait::answer(question)
    }
}

/// What wakes a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wake {
    /// A message.
    Answer(Vec<u8>),
    /// The time it waited for has come.
    Timeout,
    /// It waited for nothing.
    Step,
}

/// What a routine can be resumed with.
///
/// - [`Wake`] is anything.
/// - `String`: an answer, as text. Only for routines that wait for answers without a limit.
/// - `Option<String>`: the same, or `None` if there is none.
/// - [`Json`] is an answer that is read as JSON; `Option<Json<T>>` as above.
/// - `()`: for routines that wait for no answers.
pub trait FromWake: Sized {
    /// Makes an input of it.
    ///
    /// # Errors
    /// If it is not one, with the reason.
    fn from_wake(wake: Wake) -> Result<Self, String>;
}

impl FromWake for Wake {
    fn from_wake(wake: Wake) -> Result<Self, String> {
        Ok(wake)
    }
}

impl FromWake for () {
    fn from_wake(wake: Wake) -> Result<Self, String> {
        match wake {
            Wake::Answer(_) => Err("this routine takes no answers".into()),
            Wake::Timeout | Wake::Step => Ok(()),
        }
    }
}

impl FromWake for String {
    fn from_wake(wake: Wake) -> Result<Self, String> {
        match wake {
            Wake::Answer(body) => String::from_utf8(body).map_err(|_| "it is not text".into()),
            Wake::Timeout | Wake::Step => {
                Err("this routine takes `String` and would have to take `Option<String>`".into())
            }
        }
    }
}

/// An answer that is read as JSON, and as deep as the stack has room for: see [`leno_frame::json`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromWake for Json<T> {
    fn from_wake(wake: Wake) -> Result<Self, String> {
        match wake {
            Wake::Answer(body) => {
                json::from_slice(&body).map(Json).map_err(|error| error.to_string())
            }
            Wake::Timeout | Wake::Step => {
                Err("this routine takes `Json` and would have to take `Option<Json>`".into())
            }
        }
    }
}

macro_rules! optional {
    ($type:ty $(, $param:ident)?) => {
        impl$(<$param: DeserializeOwned>)? FromWake for Option<$type> {
            fn from_wake(wake: Wake) -> Result<Self, String> {
                match wake {
                    Wake::Answer(_) => FromWake::from_wake(wake).map(Some),
                    Wake::Timeout | Wake::Step => Ok(None),
                }
            }
        }
    };
}

optional!(String);
optional!(Json<T>, T);
