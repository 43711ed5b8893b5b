//! Values that are not data: stored by name, bound anew where a coroutine is restored.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scope::{self, Kind};

/// Something that lives outside the coroutine, such as a connection: an image has its name only, and
/// [`crate::Options::bind`] says what that means where it is restored.
pub struct Ext<T: ?Sized> {
    name: Arc<str>,
    value: Arc<T>,
}

impl<T> Ext<T> {
    /// An external of this name.
    pub fn new(name: &str, value: Arc<T>) -> Self {
        Ext { name: name.into(), value }
    }
}

impl<T: ?Sized> Ext<T> {
    /// What it is called in images.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is here.
    pub fn value(&self) -> &Arc<T> {
        &self.value
    }
}

impl<T: ?Sized> Clone for Ext<T> {
    fn clone(&self) -> Self {
        Ext { name: self.name.clone(), value: self.value.clone() }
    }
}

impl<T: ?Sized> Deref for Ext<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> fmt::Debug for Ext<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ext").field(&self.name).finish()
    }
}

/// How an external is written for people.
#[derive(Serialize, Deserialize)]
struct Named {
    #[serde(rename = "$ext")]
    name: String,
}

impl<T: ?Sized> Serialize for Ext<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return Named { name: self.name.to_string() }.serialize(serializer);
        }
        self.name.serialize(serializer)
    }
}

impl<'de, T: Send + Sync + 'static> Deserialize<'de> for Ext<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (is_human_readable, scope) =
            scope::of(Kind::Reading, || deserializer.is_human_readable());
        let scope = scope.map_err(D::Error::custom)?;
        let name = if is_human_readable {
            Named::deserialize(deserializer)?.name
        } else {
            String::deserialize(deserializer)?
        };
        let bindings = match scope {
            Some(id) => scope::with_reading(id, |reading| reading.bindings.clone())
                .ok_or_else(|| D::Error::custom(scope::put_aside(scope, scope::moved())))?,
            None => Bindings::default(),
        };
        let bound = bindings.get::<T>(&name);
        bound.map(|value| Ext { name: name.as_str().into(), value }).ok_or_else(|| {
            let message = format!(
                "external `{name}` of type `{}` is not bound here: add `.bind(\"{name}\", value)` to \
                 the options",
                type_name::<T>()
            );
            D::Error::custom(scope::put_aside(scope, message))
        })
    }
}

/// What externals are, by type and name.
#[derive(Clone, Default)]
pub(crate) struct Bindings(Option<Arc<Bound>>);

type Bound = HashMap<(TypeId, String), Arc<dyn Any + Send + Sync>>;

impl Bindings {
    pub(crate) fn bind<T: Send + Sync + 'static>(&mut self, name: &str, value: Arc<T>) {
        let bound = Arc::make_mut(self.0.get_or_insert_default());
        bound.insert((TypeId::of::<T>(), name.to_owned()), value);
    }

    fn get<T: Send + Sync + 'static>(&self, name: &str) -> Option<Arc<T>> {
        let value = self.0.as_ref()?.get(&(TypeId::of::<T>(), name.to_owned()))?;
        value.clone().downcast().ok()
    }
}

impl fmt::Debug for Bindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().flat_map(|bound| bound.keys().map(|(_, name)| name));
        f.debug_set().entries(names).finish()
    }
}
