//! Values that several locals share, and still share after they were restored.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scope::{self, Kind};

/// Shared ownership that an image keeps: what two locals of a coroutine, even of different frames, share
/// when it is stored, they share when it is restored.
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    /// A value to share.
    pub fn new(value: T) -> Self {
        Shared(Arc::new(value))
    }

    /// The same value, as others share it.
    pub fn arc(&self) -> &Arc<T> {
        &self.0
    }

    /// Whether both share one value.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> From<Arc<T>> for Shared<T> {
    fn from(value: Arc<T>) -> Self {
        Shared(value)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a shared value is written for people.
#[derive(Serialize, Deserialize)]
struct Numbered<T> {
    #[serde(rename = "$shared")]
    number: u32,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    value: Option<T>,
}

impl<T: Serialize + 'static> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (is_human_readable, scope) =
            scope::of(Kind::Writing, || serializer.is_human_readable());
        let (number, first) = match scope {
            Ok(None) => (0, true),
            Ok(Some(id)) => self
                .number(id)
                .ok_or_else(|| S::Error::custom(scope::put_aside(Some(id), scope::moved())))?,
            Err(cause) => return Err(S::Error::custom(cause)),
        };
        let value = first.then_some(&*self.0);
        if is_human_readable {
            Numbered { number, value }.serialize(serializer)
        } else {
            (number, value).serialize(serializer)
        }
    }
}

impl<T: 'static> Shared<T> {
    /// Its number in these tables, and whether it is met for the first time.
    fn number(&self, id: u64) -> Option<(u32, bool)> {
        let address = Arc::as_ptr(&self.0).addr();
        scope::with_written(id, |written| {
            let next = written.len() as u32;
            let (number, _) =
                written.entry(address).or_insert_with(|| (next, self.0.clone() as Arc<dyn Any>));
            (*number, *number == next)
        })
    }
}

impl<'de, T: DeserializeOwned + Send + Sync + 'static> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (is_human_readable, scope) =
            scope::of(Kind::Reading, || deserializer.is_human_readable());
        let scope = scope.map_err(D::Error::custom)?;
        let (number, value) = if is_human_readable {
            let Numbered { number, value } = Numbered::<T>::deserialize(deserializer)?;
            (number, value)
        } else {
            <(u32, Option<T>)>::deserialize(deserializer)?
        };
        let moved = || D::Error::custom(scope::put_aside(scope, scope::moved()));
        let shared = match (scope, value) {
            (None, value) => value.map(Arc::new),
            (Some(id), Some(value)) => {
                let value = Arc::new(value);
                let known = value.clone();
                let before =
                    scope::with_reading(id, |reading| reading.shared.insert(number, known));
                // Its `Drop` may be user code, so it ends here, and not with the tables in hand.
                drop(before.ok_or_else(moved)?);
                Some(value)
            }
            (Some(id), None) => {
                let known = scope::with_reading(id, |reading| reading.shared.get(&number).cloned());
                known.ok_or_else(moved)?.and_then(|known| known.downcast().ok())
            }
        };
        shared.map(Shared).ok_or_else(|| {
            let cause =
                format!("shared value {number} has not been read before, or is of another type");
            D::Error::custom(scope::put_aside(scope, cause))
        })
    }
}
