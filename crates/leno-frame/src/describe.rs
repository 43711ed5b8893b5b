//! What is known of a function when it is compiled: its name, its suspensions, and what is live there.

use std::sync::atomic::AtomicU32;

/// A resumable function. Images find it by its name.
#[doc(hidden)]
pub struct Function {
    pub(crate) name: &'static str,
    pub(crate) id: u32,
    /// Whether it has type parameters: then locals may differ in type from call to call.
    pub(crate) generic: bool,
    pub(crate) places: &'static [Place],
}

impl Function {
    pub const fn new(name: &'static str, generic: bool, places: &'static [Place]) -> Self {
        Function { name, id: id_of(name), generic, places }
    }

    /// The suspension of this number, from 1 on.
    pub(crate) fn place(&self, number: u32) -> &'static Place {
        &self.places[number as usize - 1]
    }

    /// The labels of all suspensions, for messages.
    pub(crate) fn labels(&self) -> String {
        let labels: Vec<String> = self
            .places
            .iter()
            .map(|place| format!("`{}` (line {})", place.label, place.line))
            .collect();
        labels.join(", ")
    }
}

/// A suspension of a function. Images find it by its label.
#[doc(hidden)]
pub struct Place {
    pub(crate) label: &'static str,
    pub(crate) id: u32,
    line: u32,
    /// Number and name of each variable that is live there, in the order in which they are stored.
    pub(crate) locals: &'static [(u16, &'static str)],
    /// A hash of their types, once it is known; 0 before.
    pub(crate) shape: AtomicU32,
}

impl Place {
    pub const fn new(
        label: &'static str,
        line: u32,
        locals: &'static [(u16, &'static str)],
    ) -> Self {
        Place { label, id: id_of(label), line, locals, shape: AtomicU32::new(0) }
    }

    pub(crate) fn names(&self) -> String {
        let names: Vec<String> = self.locals.iter().map(|(_, name)| format!("`{name}`")).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    }
}

/// The number by which a name is found in compact images: FNV-1a.
pub(crate) const fn id_of(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let (mut hash, mut i) = (0x811c_9dc5_u32, 0);
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}
