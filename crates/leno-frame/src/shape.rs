//! Hashes of types as their `Deserialize` asks for them, so that compact images are not misread by a
//! build in which a type has changed.

use std::any::{TypeId, type_name};
use std::cell::RefCell;
use std::collections::HashMap;
use std::thread;

use leno_context::overflow::stack_left;
use leno_context::user;
use serde::de::DeserializeOwned;
use serde_reflection::{Samples, Tracer, TracerConfig};

use crate::describe::id_of;
use crate::error::panic_text;
use crate::scope;

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
    // In the destructors of other thread-locals it may be gone: then types are looked at each time.
    let known = KNOWN.try_with(|known| known.borrow().get(&id).copied());
    if let Ok(Some(hash)) = known {
        return hash;
    }
    let hash = id_of(&describe::<T>());
    let _is_kept = KNOWN.try_with(|known| known.borrow_mut().insert(id, hash));
    hash
}

/// How much stack there must be for looking at a type here, which goes as deep as types are nested in one another.
const ROOM: usize = 128 << 10;

/// The structure of a type, for people. Where it cannot be found out, the type's name stands for it.
///
/// Where there is little stack, as in a coroutine, a thread is made for it: it is done once for each type and thread.
pub(crate) fn describe<T: DeserializeOwned + 'static>() -> String {
    if stack_left().is_some_and(|left| left < ROOM) {
        let thread = thread::Builder::new().name("leno-shape".into()).stack_size(16 * ROOM);
        if let Ok(thread) = thread.spawn(trace::<T>)
            && let Ok(traced) = thread.join()
        {
            return traced;
        }
    }
    trace::<T>()
}

fn trace<T: DeserializeOwned + 'static>() -> String {
    let traced = user::call(|| {
        let _no_tables = scope::look();
        let mut tracer = Tracer::new(TracerConfig::default());
        let (format, _) = tracer.trace_type::<T>(&Samples::new()).ok()?;
        let known = tracer.registry().ok()?;
        Some(if known.is_empty() { format!("{format:?}") } else { format!("{format:?} {known:?}") })
    });
    // One that panics cannot be traced; an exit goes on.
    let traced = traced.map_err(panic_text);
    traced.ok().flatten().unwrap_or_else(|| format!("opaque {}", type_name::<T>()))
}
