//! The frames of a compact image.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use super::bounded;
use super::limits::Limits;
use super::reader::{Frame, Wrong, no_such_point, other_function, skip_locals};
use super::{HEADER, Options, caught, varint};
use crate::describe::{Function, id_of};
use crate::error::{ImageError, RestoreError};
use crate::persist::Persist;
use crate::shape;

pub(super) struct Compact {
    bytes: Box<[u8]>,
    renames: HashMap<u32, u32>,
    /// How many frames were not begun yet.
    pub left: usize,
    /// Of the frame that is read: where its locals begin, and how many there are.
    start: usize,
    count: usize,
    /// Which local is at which byte; the next one, mostly.
    next: (usize, usize),
    /// The shape in the image, and what the types that were asked for add up to.
    shape: u32,
    asked: u32,
    check: Check,
}

/// One local: which of its frame's, and what it is.
struct Local<'a> {
    index: usize,
    name: &'static str,
    bytes: &'a [u8],
}

/// How types are compared.
#[derive(Clone, Copy, PartialEq)]
enum Check {
    /// As numbers, and they were the same.
    Same,
    /// As numbers, and they were not.
    Other,
    /// This build does not know its own shape yet: it is what is asked for.
    Asking,
}

impl Compact {
    pub(super) fn new(bytes: &[u8], options: &Options) -> Result<Self, ImageError> {
        let mut at = HEADER;
        let left = varint::get(bytes, &mut at)?;
        let renames = options.renames.iter();
        Ok(Compact {
            bytes: bytes.into(),
            renames: renames.map(|(old, new)| (id_of(old), id_of(new))).collect(),
            left,
            start: at,
            count: 0,
            next: (0, at),
            shape: 0,
            asked: 0,
            check: Check::Asking,
        })
    }

    /// Goes on to the next frame: which suspension of its function it is at.
    pub(super) fn begin(
        &mut self,
        function: &'static Function,
        depth: usize,
    ) -> Result<usize, Wrong> {
        let (taken, mut at) = self.next;
        skip_locals(&self.bytes, &mut at, self.count - taken).map_err(image)?;
        self.left = self.left.checked_sub(1).ok_or(RestoreError::NoFrame)?;
        let [mut id, label, shape] = varint::get_three(&self.bytes, &mut at).map_err(image)?;
        if !self.renames.is_empty() {
            id = self.renames.get(&id).copied().unwrap_or(id);
        }
        if id != function.id {
            return Err(other_function(depth, function, format!("#{id:08x}")));
        }
        let point = function.places.iter().position(|place| place.id == label);
        let point = point.ok_or_else(|| no_such_point(depth, function, format!("#{label:08x}")))?;
        let place = &function.places[point];
        self.count = varint::get(&self.bytes, &mut at).map_err(image)?;
        (self.start, self.next) = (at, (0, at));
        let frame = Frame { function, place, depth };
        if self.count != place.locals.len() {
            let (names, count) = (place.names(), self.count);
            return Err(frame.other_shape(format!("{names}, where the image has {count} values")));
        }
        (self.shape, self.asked) = (shape, 0);
        self.check = match frame.shape() {
            Some(known) if known == shape => Check::Same,
            Some(_) => Check::Other,
            None => Check::Asking,
        };
        Ok(point)
    }

    #[inline]
    pub(super) fn take<T: Persist>(
        &mut self,
        frame: &Frame,
        variable: u16,
        limits: &Limits,
    ) -> Result<T, Wrong> {
        let check = self.check;
        let Local { index, name, bytes } = self.find(frame, variable)?;
        if check == Check::Other {
            return Err(other_type::<T>(frame, name, "another hash"));
        }
        let value = match caught(|| bounded::read::<T>(bytes, limits)) {
            Ok(Ok((value, []))) => value,
            Ok(Ok(_)) => return Err(other_type::<T>(frame, name, "bytes are left over")),
            Ok(Err(error)) => {
                return Err(match limits.take_complaint() {
                    Some(cause) => frame.cannot_decode(name, cause),
                    None => other_type::<T>(frame, name, &error.to_string()),
                });
            }
            Err(cause) => return Err(frame.cannot_decode(name, cause)),
        };
        if check == Check::Asking {
            let part = shape::at::<T>(index as u32);
            let part = part.map_err(|cause| frame.cannot_decode(name, cause))?;
            self.asked = self.asked.wrapping_add(part);
        }
        Ok(value)
    }

    /// Finds a local. Mostly it is the next one.
    fn find(&mut self, frame: &Frame, variable: u16) -> Result<Local<'_>, Wrong> {
        let locals = frame.place.locals;
        let (mut next, mut at) = self.next;
        if locals.get(next).is_none_or(|(known, _)| *known != variable) {
            let index = locals.iter().position(|(known, _)| *known == variable);
            let index = index.ok_or(RestoreError::NoFrame)?;
            if index < next {
                (next, at) = (0, self.start);
            }
            skip_locals(&self.bytes, &mut at, index - next).map_err(image)?;
            next = index;
        }
        let length = varint::get(&self.bytes, &mut at).map_err(image)?;
        let begin = at;
        varint::skip(&self.bytes, &mut at, length).map_err(image)?;
        self.next = (next + 1, at);
        Ok(Local { index: next, name: locals[next].1, bytes: &self.bytes[begin..at] })
    }

    pub(super) fn arrive(&mut self, frame: &Frame) -> Result<(), Wrong> {
        let known = match self.check {
            Check::Same => return Ok(()),
            Check::Other => None,
            Check::Asking => Some(self.asked | 1),
        };
        if known != Some(self.shape) {
            let names = frame.place.names();
            return Err(frame.other_shape(format!("the types of {names} have changed")));
        }
        if !frame.function.generic {
            frame.place.shape.store(self.shape, Relaxed);
        }
        Ok(())
    }
}

#[cold]
fn image(error: ImageError) -> Wrong {
    Box::new(error.into())
}

#[cold]
#[inline(never)]
fn other_type<T: Persist>(frame: &Frame, local: &str, cause: &str) -> Wrong {
    frame.other_shape(format!("`{local}` is {} ({cause})", shape::describe::<T>()))
}
