//! How an image is restored.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::FrameImage;
use crate::external::Bindings;

type Migrate = Arc<dyn Fn(&mut FrameImage) + Send + Sync>;

/// How an image is restored: what its externals are, and what has changed since it was taken.
#[derive(Clone, Default)]
pub struct Options {
    pub(crate) bindings: Bindings,
    pub(crate) renames: HashMap<String, String>,
    pub(crate) migrate: Option<Migrate>,
    pub(crate) nesting: Option<usize>,
    pub(crate) memory: Option<usize>,
}

impl Options {
    /// Nothing bound, nothing changed.
    pub fn new() -> Self {
        Options::default()
    }

    /// What [`crate::Ext`]s of this name and type are here.
    #[must_use]
    pub fn bind<T: Send + Sync + 'static>(mut self, name: &str, value: Arc<T>) -> Self {
        self.bindings.bind(name, value);
        self
    }

    /// That a function has another name now. Names are those of errors and JSON images: `module::name`, or
    /// what `#[resumable(id = "..")]` says.
    #[must_use]
    pub fn rename(mut self, old: &str, new: &str) -> Self {
        self.renames.insert(old.to_owned(), new.to_owned());
        self
    }

    /// How deep the values in a compact image may be nested, 128 unless said otherwise: reading them goes
    /// as deep on the native stack. (In JSON it is always 128.) Where the stack has room for fewer levels, that many
    /// are read.
    #[must_use]
    pub fn nesting(mut self, levels: usize) -> Self {
        self.nesting = Some(levels);
        self
    }

    /// How much memory the items of the collections in an image may take, in bytes: unless said otherwise 16 MiB, and
    /// 1 KiB for each byte of the image. Items may take no bytes there, but memory here.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Changes each frame before it is restored, after names were changed. For JSON images only: others
    /// have no names to change by.
    #[must_use]
    pub fn migrate(mut self, change: impl Fn(&mut FrameImage) + Send + Sync + 'static) -> Self {
        self.migrate = Some(Arc::new(change));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Options");
        shown.field("bindings", &self.bindings).field("renames", &self.renames);
        shown.field("migrate", &self.migrate.is_some()).finish()
    }
}
