//! Bytes into frames, one after the other, as bodies ask for them.
//!
//! There is one reader for a coroutine; it has one frame at a time, the one that a body rewinds to. The first thing
//! that is wrong is kept in it: a body that cannot go on waits, and whoever restores asks why.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Map, Value};

use super::checksum::checksum;
use super::compact::Compact;
use super::json::JsonImage;
use super::limits::Limits;
use super::{Format, FrameImage, HEADER, Image, MAGIC, Options, VERSION, bounded, caught, varint};
use crate::describe::{Function, Place};
use crate::error::{ImageError, RestoreError};
use crate::persist::Persist;

/// Checks a compact image from its first byte to its last.
pub(crate) fn check(bytes: &[u8]) -> Result<(), ImageError> {
    match bytes {
        [a, b, ..] if [*a, *b] != MAGIC => return Err(ImageError::NotAnImage),
        [_, _, version, ..] if *version != VERSION => return Err(ImageError::Version(*version)),
        [] => return Err(ImageError::NotAnImage),
        _ if bytes.len() < HEADER => return Err(ImageError::Truncated),
        _ => {}
    }
    let mut at = 3;
    let sum = varint::get_u32(bytes, &mut at)?;
    let frames = varint::get(bytes, &mut at).and_then(|frames| {
        for _ in 0..frames {
            varint::skip(bytes, &mut at, 12)?;
            let locals = varint::get(bytes, &mut at)?;
            skip_locals(bytes, &mut at, locals)?;
        }
        if at < bytes.len() {
            // Whether that is a value cut short or something else, only the checksum could say.
            varint::skip(bytes, &mut at, 4).map_err(|_| ImageError::Corrupt)?;
            skip_locals(bytes, &mut at, 1).map_err(|_| ImageError::Corrupt)?;
        }
        Ok(())
    });
    if checksum(&bytes[HEADER..]) == sum {
        // A good checksum and a wrong structure: nobody here wrote it.
        frames.and(if at == bytes.len() { Ok(()) } else { Err(ImageError::Corrupt) })
    } else {
        Err(if frames == Err(ImageError::Truncated) {
            ImageError::Truncated
        } else {
            ImageError::Corrupt
        })
    }
}

/// The value behind the frames of a compact image: the hash of its type, and its bytes.
pub(super) fn yielded(bytes: &[u8]) -> Result<Option<(u32, &[u8])>, ImageError> {
    let mut at = HEADER;
    for _ in 0..varint::get(bytes, &mut at)? {
        varint::skip(bytes, &mut at, 12)?;
        let locals = varint::get(bytes, &mut at)?;
        skip_locals(bytes, &mut at, locals)?;
    }
    if at == bytes.len() {
        return Ok(None);
    }
    let shape = varint::get_u32(bytes, &mut at)?;
    let length = varint::get(bytes, &mut at)?;
    let begin = at;
    varint::skip(bytes, &mut at, length)?;
    Ok(Some((shape, &bytes[begin..at])))
}

pub(super) fn skip_locals(bytes: &[u8], at: &mut usize, count: usize) -> Result<(), ImageError> {
    for _ in 0..count {
        let length = varint::get(bytes, at)?;
        varint::skip(bytes, at, length)?;
    }
    Ok(())
}

pub(crate) struct Reader {
    source: Source,
    /// How many frames were begun.
    depth: usize,
    frame: Option<Frame>,
    error: Option<Wrong>,
    /// Of the whole image.
    limits: Limits,
}

/// Why a frame cannot be restored; in a box, because it is large and what is read mostly is not.
pub(super) type Wrong = Box<RestoreError>;

/// The frame that is read: of which function, where that is suspended, how many frames are around it.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub function: &'static Function,
    pub place: &'static Place,
    pub depth: usize,
}

impl Frame {
    /// The shape of its locals, if it is known: it depends on more than the place in a generic function.
    pub(super) fn shape(&self) -> Option<u32> {
        let shape = self.place.shape.load(Relaxed);
        (shape != 0 && !self.function.generic).then_some(shape)
    }

    #[cold]
    pub(super) fn cannot_decode(&self, local: &'static str, cause: String) -> Wrong {
        let (function, point) = (self.function.name, self.place.label);
        Box::new(RestoreError::Decode { function, point, local, cause })
    }

    #[cold]
    pub(super) fn other_shape(&self, now: String) -> Wrong {
        let (depth, function, point) = (self.depth, self.function.name, self.place.label);
        Box::new(RestoreError::OtherShape { depth, function, point, now })
    }
}

enum Source {
    Compact(Compact),
    Json(Json),
}

struct Json {
    frames: std::vec::IntoIter<FrameImage>,
    /// Of the frame that is read.
    locals: Map<String, Value>,
}

impl Reader {
    pub(crate) fn new(image: &Image, options: &Options, scope: u64) -> Result<Self, ImageError> {
        let bytes = image.bytes.len();
        let (source, limits) = match image.format {
            Format::Postcard => {
                let source = Source::Compact(Compact::new(&image.bytes, options)?);
                (source, Limits::reading(bytes, Some(options), scope))
            }
            Format::Json => {
                let mut frames = JsonImage::parse(&image.bytes)?.frames;
                for frame in &mut frames {
                    if let Some(new) = options.renames.get(&frame.function) {
                        frame.function.clone_from(new);
                    }
                    if let Some(migrate) = &options.migrate {
                        migrate(frame);
                    }
                }
                let source = Source::Json(Json { frames: frames.into_iter(), locals: Map::new() });
                (source, Limits::reading_json(bytes, Some(options), scope))
            }
        };
        Ok(Reader { source, depth: 0, frame: None, error: None, limits })
    }

    /// How many frames are to come. The image has been checked: each has its bytes.
    pub(crate) fn left(&self) -> usize {
        match &self.source {
            Source::Compact(source) => source.left,
            Source::Json(source) => source.frames.len(),
        }
    }

    /// Goes on to the next frame, which is to be one of this function: the number of its suspension.
    pub(crate) fn begin(&mut self, function: &'static Function) -> Option<u32> {
        let depth = self.depth;
        let point = match &mut self.source {
            Source::Compact(source) => source.begin(function, depth),
            Source::Json(source) => source.begin(function, depth),
        };
        let point = self.or_fail(point)?;
        self.depth += 1;
        let place = &function.places[point];
        self.frame = Some(Frame { function, place, depth });
        Some(point as u32 + 1)
    }

    /// Whether there is stack for taking a local of this size, which is on it several times meanwhile; asked before the
    /// first of these is.
    pub(crate) fn has_room(&mut self, variable: u16, size: usize) -> bool {
        let Err(cause) = self.limits.room(size) else { return true };
        self.no_room(variable, cause);
        false
    }

    #[cold]
    #[inline(never)]
    fn no_room(&mut self, variable: u16, cause: String) {
        let Some(frame) = self.frame else { return };
        let local = frame.place.locals.iter().find(|(known, _)| *known == variable);
        let local = local.map_or("?", |(_, local)| *local);
        let error = frame.cannot_decode(local, cause);
        self.error.get_or_insert(error);
    }

    #[inline]
    pub(crate) fn take<T: Persist>(&mut self, variable: u16) -> Option<T> {
        let frame = self.frame?;
        let value = match &mut self.source {
            Source::Compact(source) => source.take(&frame, variable, &self.limits),
            Source::Json(source) => source.take(&frame, variable, &self.limits),
        };
        self.or_fail(value)
    }

    /// When all locals were taken: whether they had the types that were stored.
    pub(crate) fn arrive(&mut self) -> Option<()> {
        let frame = self.frame?;
        let arrived = match &mut self.source {
            Source::Compact(source) => source.arrive(&frame),
            Source::Json(_) => Ok(()),
        };
        self.or_fail(arrived)
    }

    /// Keeps the first error.
    #[inline]
    fn or_fail<T>(&mut self, result: Result<T, Wrong>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    /// What was wrong, if something was; otherwise whether all frames were read.
    pub(crate) fn finish(&mut self, arrived: bool) -> Result<(), RestoreError> {
        match (self.error.take(), self.left()) {
            (Some(error), _) => Err(*error),
            (None, _) if !arrived => Err(RestoreError::NoFrame),
            (None, 0) => Ok(()),
            (None, left) => Err(RestoreError::FramesLeft(left)),
        }
    }
}

impl Json {
    fn begin(&mut self, function: &'static Function, depth: usize) -> Result<usize, Wrong> {
        let frame = self.frames.next().ok_or(RestoreError::NoFrame)?;
        if frame.function != function.name {
            return Err(other_function(depth, function, frame.function));
        }
        let place = function.places.iter().position(|place| place.label == frame.point);
        let point = place.ok_or_else(|| no_such_point(depth, function, frame.point))?;
        self.locals = frame.locals;
        Ok(point)
    }

    fn take<T: Persist>(
        &mut self,
        frame: &Frame,
        variable: u16,
        limits: &Limits,
    ) -> Result<T, Wrong> {
        let Some((_, local)) = frame.place.locals.iter().find(|(known, _)| *known == variable)
        else {
            return Err(RestoreError::NoFrame.into());
        };
        let found = self.locals.remove(*local);
        let missing = found.is_none();
        match caught(|| bounded::read_json(found.unwrap_or(Value::Null), limits)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_)) if missing => {
                let (function, point) = (frame.function.name, frame.place.label);
                Err(RestoreError::MissingLocal { function, point, local }.into())
            }
            Ok(Err(error)) => Err(frame.cannot_decode(local, error.to_string())),
            Err(cause) => Err(frame.cannot_decode(local, cause)),
        }
    }
}

#[cold]
pub(super) fn other_function(depth: usize, function: &'static Function, found: String) -> Wrong {
    RestoreError::OtherFunction { depth, expected: function.name, found }.into()
}

#[cold]
pub(super) fn no_such_point(depth: usize, function: &'static Function, found: String) -> Wrong {
    let known = function.labels();
    RestoreError::NoSuchPoint { depth, function: function.name, found, known }.into()
}
