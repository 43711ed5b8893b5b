//! One frame of an image, while a body takes its locals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Map, Value};

use super::{bounded, varint};
use crate::describe::{Function, Place};
use crate::error::{RestoreError, panic_text};
use crate::persist::Persist;
use crate::{scope, shape};

pub(crate) struct StoredFrame {
    function: &'static Function,
    point: u32,
    depth: usize,
    locals: Locals,
}

pub(crate) enum Locals {
    Compact {
        bytes: Arc<[u8]>,
        start: usize,
        nesting: usize,
        /// The shape in the image, and what the types that were asked for add up to.
        shape: u32,
        asked: u32,
        /// Which local is at which byte; the next one, mostly.
        next: (usize, usize),
    },
    Json(Map<String, Value>),
}

impl Locals {
    pub(crate) fn compact(bytes: Arc<[u8]>, start: usize, nesting: usize, shape: u32) -> Self {
        Locals::Compact { bytes, start, nesting, shape, asked: 0, next: (0, start) }
    }
}

impl StoredFrame {
    pub(crate) fn new(
        function: &'static Function,
        point: u32,
        depth: usize,
        locals: Locals,
    ) -> Self {
        StoredFrame { function, point, depth, locals }
    }

    /// The number of the suspension, from 1 on.
    pub(crate) fn point(&self) -> u32 {
        self.point
    }

    fn place(&self) -> &'static Place {
        self.function.place(self.point)
    }

    pub(crate) fn take<T: Persist>(&mut self, variable: u16) -> Result<T, RestoreError> {
        let (function, place, depth) = (self.function, self.place(), self.depth);
        let index = place.locals.iter().position(|(known, _)| *known == variable);
        let index = index.ok_or(RestoreError::NoFrame)?;
        let local = place.locals[index].1;
        let wrong = |cause| RestoreError::Decode {
            function: function.name,
            point: place.label,
            local,
            cause,
        };
        match &mut self.locals {
            Locals::Compact { bytes, start, nesting, shape, asked, next } => {
                let known = place.shape.load(Relaxed);
                if function.generic || known == 0 {
                    *asked = asked.wrapping_add(shape::at::<T>(index as u32));
                } else if known != *shape {
                    return Err(other_shape::<T>(function, place, depth, local, "another hash"));
                }
                let value = find(bytes, *start, next, index)?;
                match caught(|| bounded::read::<T>(value, *nesting)) {
                    Ok(Ok((value, []))) => Ok(value),
                    Ok(Ok(_)) => {
                        Err(other_shape::<T>(function, place, depth, local, "bytes are left over"))
                    }
                    Ok(Err(error)) => Err(match scope::take_complaint() {
                        Some(cause) => wrong(cause),
                        None => other_shape::<T>(function, place, depth, local, &error.to_string()),
                    }),
                    Err(cause) => Err(wrong(cause)),
                }
            }
            Locals::Json(locals) => {
                let found = locals.remove(local);
                let missing = found.is_none();
                let value = found.unwrap_or(Value::Null);
                match caught(|| serde_json::from_value(value)) {
                    Ok(Ok(value)) => Ok(value),
                    Ok(Err(_)) if missing => Err(RestoreError::MissingLocal {
                        function: function.name,
                        point: place.label,
                        local,
                    }),
                    Ok(Err(error)) => Err(wrong(error.to_string())),
                    Err(cause) => Err(wrong(cause)),
                }
            }
        }
    }

    /// When all locals were taken: whether they had the types that were stored.
    pub(crate) fn finish(&self) -> Result<(), RestoreError> {
        let (function, place) = (self.function, self.place());
        let Locals::Compact { shape, asked, .. } = &self.locals else { return Ok(()) };
        if !function.generic && place.shape.load(Relaxed) != 0 {
            return Ok(());
        }
        let now = asked | 1;
        if now != *shape {
            return Err(RestoreError::OtherShape {
                depth: self.depth,
                function: function.name,
                point: place.label,
                now: format!("the types of {} have changed", place.names()),
            });
        }
        if !function.generic {
            place.shape.store(now, Relaxed);
        }
        Ok(())
    }
}

/// The bytes of a local.
fn find<'a>(
    bytes: &'a [u8],
    start: usize,
    next: &mut (usize, usize),
    index: usize,
) -> Result<&'a [u8], RestoreError> {
    if next.0 > index {
        *next = (0, start);
    }
    let (mut i, mut at) = *next;
    loop {
        let length = varint::get(bytes, &mut at)?;
        let begin = at;
        varint::skip(bytes, &mut at, length)?;
        i += 1;
        if i > index {
            *next = (i, at);
            return Ok(&bytes[begin..at]);
        }
    }
}

/// Runs a user's `Deserialize`: one that panics is an error, whatever bytes it was given.
pub(super) fn caught<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|payload| format!("its `Deserialize` panicked: {}", panic_text(&*payload)))
}

fn other_shape<T: Persist>(
    function: &'static Function,
    place: &'static Place,
    depth: usize,
    local: &str,
    cause: &str,
) -> RestoreError {
    RestoreError::OtherShape {
        depth,
        function: function.name,
        point: place.label,
        now: format!("`{local}` is {} ({cause})", shape::describe::<T>()),
    }
}
