//! What objects are called.

use std::collections::HashMap;

use leno_kernel::Object;

/// What channels and locks are called in a picture; a nameless one is shown by a number.
///
/// A log knows the names of coroutines, but not those of what they wait on; a report knows both, but
/// not of futures that wait.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Object, Options, Reason, park};
/// use leno_picture::{Names, waits};
///
/// let system = LocalSystem::new();
/// let channel = Object::local();
/// drop(system.spawn(move || park(Reason::Hungry(channel))));
/// let deadlock = system.run().unwrap_err();
/// let picture = waits(&deadlock.report, &Names::new().object(channel, "orders"));
/// assert!(picture.contains("orders"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Names {
    objects: HashMap<Object, String>,
}

impl Names {
    /// No names.
    pub fn new() -> Names {
        Names::default()
    }

    /// Calls an object by this name.
    #[must_use = "it gives back the names"]
    pub fn object(mut self, object: Object, name: impl Into<String>) -> Names {
        self.objects.insert(object, name.into());
        self
    }

    pub(crate) fn get(&self, object: Object) -> Option<&str> {
        self.objects.get(&object).map(String::as_str)
    }
}
