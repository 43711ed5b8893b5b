//! Hashes of types as their `Deserialize` asks for them, so that compact images are not misread by a
//! build in which a type has changed.

use std::any::{TypeId, type_name};
use std::cell::RefCell;
use std::collections::HashMap;

use leno_context::user;
use serde::de::DeserializeOwned;
use serde_reflection::{Samples, Tracer, TracerConfig};

use crate::describe::id_of;
use crate::error::panic_text;

thread_local! {
    static KNOWN: RefCell<HashMap<TypeId, u32>> = RefCell::default();
}

/// The part of a frame's shape that its `index`th local contributes. Parts are added up, because
/// locals of nested blocks are read in another order than they are written in.
pub(crate) fn at<T: DeserializeOwned + 'static>(index: u32) -> u32 {
    (index ^ of::<T>()).wrapping_mul(0x9e37_79b1).rotate_left(13)
}

fn of<T: DeserializeOwned + 'static>() -> u32 {
    let id = TypeId::of::<T>();
    if let Some(hash) = KNOWN.with_borrow(|known| known.get(&id).copied()) {
        return hash;
    }
    let hash = id_of(&describe::<T>());
    KNOWN.with_borrow_mut(|known| known.insert(id, hash));
    hash
}

/// The structure of a type, for people. Where it cannot be found out, the type's name stands for it.
pub(crate) fn describe<T: DeserializeOwned + 'static>() -> String {
    let traced = user::call(|| {
        let mut tracer = Tracer::new(TracerConfig::default());
        let (format, _) = tracer.trace_type::<T>(&Samples::new()).ok()?;
        let known = tracer.registry().ok()?;
        Some(if known.is_empty() { format!("{format:?}") } else { format!("{format:?} {known:?}") })
    });
    // One that panics cannot be traced; an exit goes on.
    let traced = traced.map_err(panic_text);
    traced.ok().flatten().unwrap_or_else(|| format!("opaque {}", type_name::<T>()))
}
