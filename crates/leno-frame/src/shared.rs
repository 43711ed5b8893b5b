//! Values that several locals share, and still share after they were restored.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scope;

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

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = Arc::as_ptr(&self.0).addr();
        let (number, first) = scope::with_written(|written| match written {
            Some(written) => {
                let next = written.len() as u32;
                let number = *written.entry(address).or_insert(next);
                (number, number == next)
            }
            None => (0, true),
        });
        let value = first.then_some(&*self.0);
        if serializer.is_human_readable() {
            Numbered { number, value }.serialize(serializer)
        } else {
            (number, value).serialize(serializer)
        }
    }
}

impl<'de, T: DeserializeOwned + Send + Sync + 'static> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (number, value) = if deserializer.is_human_readable() {
            let Numbered { number, value } = Numbered::<T>::deserialize(deserializer)?;
            (number, value)
        } else {
            <(u32, Option<T>)>::deserialize(deserializer)?
        };
        let shared = scope::with_reading(|reading| match (reading, value) {
            (Some(reading), Some(value)) => {
                let value = Arc::new(value);
                reading.shared.insert(number, value.clone());
                Some(value)
            }
            (Some(reading), None) => reading.shared.get(&number)?.clone().downcast().ok(),
            (None, value) => value.map(Arc::new),
        });
        shared.map(Shared).ok_or_else(|| {
            let message =
                format!("shared value {number} has not been read before, or is of another type");
            let error = D::Error::custom(&message);
            scope::complain(message);
            error
        })
    }
}
