//! Hashes of types as their `Deserialize` asks for them, so that compact images are not misread by a
//! build in which a type has changed.

use std::any::{TypeId, type_name};
use std::cell::RefCell;
use std::collections::HashMap;
use std::thread;

use leno_context::overflow::stack_left;
use leno_context::user::{self, Panic};
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
///
/// # Errors
/// If the type cannot be looked at here: another hash would make an image that cannot be restored.
pub(crate) fn at<T: DeserializeOwned + 'static>(index: u32) -> Result<u32, String> {
    Ok((index ^ of::<T>()?).wrapping_mul(0x9e37_79b1).rotate_left(13))
}

fn of<T: DeserializeOwned + 'static>() -> Result<u32, String> {
    let id = TypeId::of::<T>();
    // In the destructors of other thread-locals it may be gone: then types are looked at each time.
    let known = KNOWN.try_with(|known| known.borrow().get(&id).copied());
    if let Ok(Some(hash)) = known {
        return Ok(hash);
    }
    let hash = id_of(&look::<T>()?);
    let _is_kept = KNOWN.try_with(|known| known.borrow_mut().insert(id, hash));
    Ok(hash)
}

/// How much stack there must be for looking at a type here, which goes as deep as types are nested in one another.
const ROOM: usize = 128 << 10;

/// The structure of a type, for people. Where it cannot be found out, the type's name stands for it.
pub(crate) fn describe<T: DeserializeOwned + 'static>() -> String {
    look::<T>().unwrap_or_else(|_| opaque::<T>())
}

/// Looks at the structure of a type.
///
/// Where there is little stack, as in a coroutine, a thread is made for it: it is done once for each type and thread.
///
/// # Errors
/// If there is neither the stack for it nor a thread.
fn look<T: DeserializeOwned + 'static>() -> Result<String, String> {
    let Some(left) = stack_left().filter(|left| *left < ROOM) else { return Ok(trace::<T>()) };
    let thread = thread::Builder::new().name("leno-shape".into()).stack_size(16 * ROOM);
    let cause = match thread.spawn(trace::<T>).map(thread::JoinHandle::join) {
        Ok(Ok(traced)) => return Ok(traced),
        Ok(Err(payload)) => Panic::new(payload).message().unwrap_or("it ended").to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!(
        "{left} bytes of stack are left, too few to look at its type, and there is no thread for it: {cause}"
    ))
}

fn opaque<T>() -> String {
    format!("opaque {}", type_name::<T>())
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
    traced.ok().flatten().unwrap_or_else(opaque::<T>)
}
